-- Closes an open pod whose slots are all idle: fenced for deletion, or claimed. Idempotent for its own token.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, view (fenced, claimed), token, fewest open and claimed pods that must be left (fenced only).
-- Returns {'NOT_READY'} | {'UNKNOWN'} | {'BUSY'} | {'CLOSED', view} (by another) | {'FLOOR'} | {'OK'}.
local server, uid, view, token, floor = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local pod = pod_of(uid)
if not pod then return { 'UNKNOWN' } end
if pod.v == view and pod.k == token then return { 'OK' } end
if pod.v ~= 'open' then return { 'CLOSED', pod.v } end
if busy(pod) > 0 then return { 'BUSY' } end
if view == 'fenced' then
  local left, flat = -1, call('HVALS', PODS)
  for _, json in ipairs(flat) do
    local v = (json_of(json) or {}).v
    if v == 'open' or v == 'claimed' then left = left + 1 end
  end
  if left < tonumber(floor) then return { 'FLOOR' } end
end
pod.v, pod.k, pod.c = view, token, now_ms()
keep_pod(uid, pod)
return { 'OK' }
