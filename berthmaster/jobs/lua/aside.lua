-- Sets a pod aside, whatever runs on it: away until it is opened again, or ending for good. It gets no new jobs.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, view (away, ending).
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
local server, uid, view = unpack(ARGV)
if call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local pod = pod_of(uid)
if not pod or pod.v == 'ending' or (view == 'away' and pod.v ~= 'open') then return { 'CHANGED' } end
pod.v, pod.k = view, ''
keep_pod(uid, pod)
return { 'OK' }
