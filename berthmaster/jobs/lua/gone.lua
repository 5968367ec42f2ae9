-- A pod is gone from Kubernetes: its jobs are placed again, or lost, and nothing is known of it any more.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid.
-- Returns {'NOT_READY'} | {'OK', placed [JSON, ...]}.
local server, uid = unpack(ARGV)
if not call('HGET', META, 'mark') then return { 'NOT_READY' } end
local pod = pod_of(uid)
for _, slot in ipairs(pod and pod.s or {}) do
  local j = slot and job_of(slot.j)
  if j and j.a == slot.a and j.s ~= 'done' then lose(slot.j, j) end
end
for _, class in ipairs(pod and pod.l or {}) do call('ZREM', P .. 'free:' .. class, uid) end
call('HDEL', PODS, uid)
unclaimable(uid)
local left = {}
for _, json in ipairs(call('HVALS', PODS)) do
  local other = json_of(json)
  for _, class in ipairs(is_pod(other) and other.l or {}) do left[class] = true end
end
for _, class in ipairs(pod and pod.l or {}) do -- what no slot takes any more makes no phase free of its serial key
  if not left[class] then call('SREM', CLASSES, class) end
end
if call('SREM', EXPECT, uid) == 1 and call('SCARD', EXPECT) == 0 then call('HSET', META, 'inc', server) end
place(server)
return { 'OK', placed }
