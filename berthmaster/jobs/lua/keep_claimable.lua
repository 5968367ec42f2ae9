-- What the run of a pool says of the pods that a claim may have. Only the run that has the pool says so.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run, present revision, JSON {uid: {at s of its creation, owner last one or '', facts JSON}} new or changed,
--   uids JSON [uid, ...] of those that are none any more.
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', revision that claims were told, '' for none}.
local server, token, revision, changed, dropped = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
if call('HGET', META, 'run') ~= token then return { 'STALE' } end
call('HSET', META, 'revision', revision)
for _, uid in ipairs(cjson.decode(dropped)) do unclaimable(uid) end
for uid, told in pairs(cjson.decode(changed)) do
  unclaimable(uid)
  local pod = pod_of(uid)
  if pod and pod.v == 'open' and busy(pod) == 0 then
    call('ZADD', CLAIMABLE, told.at, uid)
    call('HSET', FACTS, uid, told.facts)
    if told.owner ~= '' then call('ZADD', P .. 'owned:' .. told.owner, told.at, uid) end
  end
end
return { 'OK', call('HGET', META, 'told') or '' }
