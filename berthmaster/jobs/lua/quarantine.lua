-- Quarantines a pod, whatever runs on it: away until it is opened again, or ending for good. It gets no new jobs.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, view (away, ending).
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
--- @include "lib/keys"
--- @include "lib/pods"
--- @include "lib/save_pod"
local server, uid, view = unpack(ARGV)
if redis.call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local pod = load_pod(uid)
if not pod or pod.view == 'ending' or (view == 'away' and pod.view ~= 'open') then return { 'CHANGED' } end
pod.view, pod.token = view, ''
save_pod(uid, pod)
return { 'OK' }
