-- Records a pod as claimed because Kubernetes says that it is, whatever the ledger thought: Redis was lost, or a claim of the pod
-- was lifted too soon.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, token of who has it.
-- Returns {'NOT_READY'} | {'UNKNOWN'} | {'BUSY'} | {'OK'}. Others that closed it conflict with what is written on the pod.
--- @include "lib/keys"
--- @include "lib/noted_ms"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/busy_slots"
local server, uid, token = unpack(ARGV)
if redis.call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local pod = load_pod(uid)
if not pod then return { 'UNKNOWN' } end
if busy_slots(pod) > 0 then return { 'BUSY' } end
pod.view, pod.token, pod.closed_at = 'claimed', token, noted_ms()
save_pod(uid, pod)
return { 'OK' }
