-- Ends a pod that is not open and that nothing runs on: it is deleted, and never opens again.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid.
-- Returns {'NOT_READY'} | {'UNKNOWN'} | {'CLOSED', view} (it is open, claimed or fenced) | {'BUSY'} | {'OK'}. Idempotent.
--- @include "lib/is_verified"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/busy_slots"
local RETIRABLE = { new = true, away = true, ending = true }
local server, uid = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local pod = load_pod(uid)
if not pod then return { 'UNKNOWN' } end
if not RETIRABLE[pod.view] then return { 'CLOSED', pod.view } end
if busy_slots(pod) > 0 then return { 'BUSY' } end
pod.view, pod.token = 'ending', ''
save_pod(uid, pod)
return { 'OK' }
