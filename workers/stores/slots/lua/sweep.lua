-- What time brings: reservations that run out, jobs that may be placed now, messages to send again, records to forget.
-- KEYS[1] prefix of the pool.
-- ARGV server, ms that an ended job is remembered, most of each.
-- Returns {'NOT_READY'} | {'OK', ids whose reservation ran out [id, ...], placed [JSON, ...]}.
local server, kept, most = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local now, expired = now_ms(), {}
for _, id in ipairs(call('ZRANGE', DUE, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  finish_job(id, job_of(id), 'expired')
  expired[#expired + 1] = id
end
for _, id in ipairs(call('ZRANGE', LATER, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  call('ZREM', LATER, id)
  enqueue(id, job_of(id))
end
for _, id in ipairs(call('ZRANGE', SENT, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  local j = job_of(id)
  call('ZADD', SENT, now + AGAIN, id)
  placed[#placed + 1] = message(id, j, pod_of(j.u))
end
for _, id in ipairs(call('ZRANGE', ENDED, '-inf', now - kept, 'BYSCORE', 'LIMIT', 0, most)) do
  call('ZREM', ENDED, id); call('HDEL', JOBS, id)
end
place(server)
return { 'OK', expired, placed }
