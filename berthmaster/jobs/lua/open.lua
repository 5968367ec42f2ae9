-- Opens a pod, after the caller has written it in Kubernetes: a new one that has reported, or one closed under the caller's token.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, token ('' for a new one).
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK', placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/messages"
--- @include "lib/place"
local server, uid, token = unpack(ARGV)
if redis.call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local pod = load_pod(uid)
if not pod then return { 'CHANGED' } end
if pod.view ~= 'open' then
  local without_token = pod.view == 'new' or pod.view == 'away'
  if pod.token ~= token or (token == '') ~= without_token then return { 'CHANGED' } end
  if not without_token and not is_verified(server) then return { 'NOT_READY' } end
  pod.view, pod.token = 'open', ''
  save_pod(uid, pod)
end
place(server)
return { 'OK', placed }
