-- What time brings: reservations that run out, jobs that may be placed now, messages to send again, records to forget.
-- KEYS[1] prefix of the pool.
-- ARGV server, ms that an ended job is remembered, most of each.
-- Returns {'NOT_READY'} | {'OK', ids whose reservation ran out [id, ...], placed [JSON, ...]}.
local server, kept, most = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local now, expired = now_ms(), {}
for _, id in ipairs(call('ZRANGE', DUE, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  local j = job_of(id)
  call('ZREM', DUE, id)
  if j then finish_job(id, j, 'expired'); expired[#expired + 1] = id end
end
for _, id in ipairs(call('ZRANGE', LATER, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  call('ZREM', LATER, id)
  local j = job_of(id)
  if j then enqueue(id, j) end
end
for _, id in ipairs(call('ZRANGE', SENT, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  local j = job_of(id)
  local pod = j and j.u and pod_of(j.u)
  if pod then call('ZADD', SENT, now + AGAIN, id); placed[#placed + 1] = message(id, j, pod)
  else call('ZREM', SENT, id); if j then lose(id, j) end end
end
for _, id in ipairs(call('ZRANGE', ENDED, '-inf', now - kept, 'BYSCORE', 'LIMIT', 0, most)) do
  call('ZREM', ENDED, id); call('HDEL', JOBS, id)
end
place(server)
return { 'OK', expired, placed }
