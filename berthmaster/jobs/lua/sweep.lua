-- What time brings: reservations that run out, jobs that may be placed now, messages to send again, records to forget.
-- When TIME went back since the last sweep (META swept), nothing is further away than its length; when it went far ahead, or nobody
-- swept, reservations last for as much longer: a person's time to decide is never cut.
-- KEYS[1] prefix of the pool.
-- ARGV server, ms that an ended job is remembered, most of each, ms within which the next sweep comes.
-- Returns {'NOT_READY'} | {'OK', ids whose reservation ran out [id, ...], placed [JSON, ...]}.
local server, kept, most, pause = unpack(ARGV)
if not call('HGET', META, 'mark') then return { 'NOT_READY' } end
local now, expired = now_ms(), {}
local swept = tonumber(call('HGET', META, 'swept')) or now

local function go_back()
  for _, id in ipairs(call('ZRANGE', DUE, 0, -1)) do call('ZADD', DUE, 'LT', now + job_of(id).h, id) end
  for _, set in ipairs({ LATER, SENT }) do
    for _, id in ipairs(call('ZRANGE', set, 0, -1)) do call('ZADD', set, 'LT', now + AGAIN, id) end
  end
  for _, uid in ipairs(call('HKEYS', PODS)) do
    local pod = pod_of(uid)
    pod.t, pod.c = pod.t and math.min(pod.t, now), pod.c and math.min(pod.c, now)
    keep_pod(uid, pod)
  end
  for _, field in ipairs({ 'up', 'down', 'asked' }) do
    if tonumber(call('HGET', META, field) or 0) > now then call('HSET', META, field, now) end
  end
end

if now < swept then go_back() end
if now - swept > tonumber(pause) then
  for _, id in ipairs(call('ZRANGE', DUE, 0, -1)) do call('ZINCRBY', DUE, now - swept, id) end
end
call('HSET', META, 'swept', now)
if not ready(server) then return { 'NOT_READY' } end
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
