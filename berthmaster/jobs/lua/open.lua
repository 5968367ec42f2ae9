-- Opens a pod, after the caller has written it in Kubernetes: a new one that has reported, or one closed under the caller's token.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, token ('' for a new one).
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK', placed [JSON, ...]}.
local server, uid, token = unpack(ARGV)
local pod = pod_of(uid)
if not pod then return { 'CHANGED' } end
if pod.v ~= 'open' then
  local fresh = pod.v == 'new' or pod.v == 'away'
  if pod.k ~= token or (token == '') ~= fresh then return { 'CHANGED' } end
  if not fresh and not ready(server) then return { 'NOT_READY' } end
  pod.v, pod.k = 'open', ''
  keep_pod(uid, pod)
end
place(server)
return { 'OK', placed }
