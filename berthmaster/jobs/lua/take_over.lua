-- The sweep takes a closed pod over from a holder that is silent or gave up: what the holder still wants is refused.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, token of the holder, new token.
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
local server, uid, was, token = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local pod = pod_of(uid)
if not pod or pod.k ~= was or (pod.v ~= 'fenced' and pod.v ~= 'claimed') then return { 'CHANGED' } end
pod.v, pod.k = 'fenced', token
keep_pod(uid, pod)
return { 'OK' }
