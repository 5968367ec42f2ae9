-- The sweep takes a closed pod over from a holder that is silent or gave up: what the holder still wants is refused.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, token of the holder, new token.
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
--- @include "lib/is_verified"
--- @include "lib/pods"
--- @include "lib/save_pod"
local server, uid, holder, token = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local pod = load_pod(uid)
if not pod or pod.token ~= holder or (pod.view ~= 'fenced' and pod.view ~= 'claimed') then return { 'CHANGED' } end
pod.view, pod.token = 'fenced', token
save_pod(uid, pod)
return { 'OK' }
