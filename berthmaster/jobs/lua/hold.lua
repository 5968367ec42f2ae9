-- Takes a pod as claimed because Kubernetes says that it is, whatever the ledger thought: Redis was lost, or a take was lifted too soon.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, token of who has it.
-- Returns {'NOT_READY'} | {'UNKNOWN'} | {'BUSY'} | {'OK'}. Others that closed it conflict with what is written on the pod.
local server, uid, token = unpack(ARGV)
if call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local pod = pod_of(uid)
if not pod then return { 'UNKNOWN' } end
if busy(pod) > 0 then return { 'BUSY' } end
pod.v, pod.k, pod.c = 'claimed', token, now_ms()
keep_pod(uid, pod)
return { 'OK' }
