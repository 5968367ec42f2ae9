-- Closes an open pod whose slots are all idle: fenced for deletion, or claimed. Idempotent for its own token.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, view (fenced, claimed), token, fewest open and claimed pods that must be left (fenced only).
-- Returns {'NOT_READY'} | {'UNKNOWN'} | {'BUSY'} | {'CLOSED', view} (by another) | {'FLOOR'} | {'OK'}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/noted_ms"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/busy_slots"
local server, uid, view, token, floor = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local pod = load_pod(uid)
if not pod then return { 'UNKNOWN' } end
if pod.view == view and pod.token == token then return { 'OK' } end
if pod.view ~= 'open' then return { 'CLOSED', pod.view } end
if busy_slots(pod) > 0 then return { 'BUSY' } end

local function pods_left() -- without this one
  local left = -1
  for _, text in ipairs(redis.call('HVALS', PODS)) do
    local other = pod_of_text(text)
    if other and (other.view == 'open' or other.view == 'claimed') then left = left + 1 end
  end
  return left
end

if view == 'fenced' and pods_left() < tonumber(floor) then return { 'FLOOR' } end
pod.view, pod.token, pod.closed_at = view, token, noted_ms()
save_pod(uid, pod)
return { 'OK' }
