-- What the run of a pool says of the pods that a claim may have. Only the run that has the pool says so.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run, present revision, '1' if the pool protects the pods of claims or '',
--   JSON {uid: {at s of its creation, owner last one or '', facts JSON}} new or changed, uids JSON [uid, ...] of those that are none
--   any more.
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', revision that claims were told, '' for none}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/pods"
--- @include "lib/busy_slots"
--- @include "lib/withdraw_from_claims"
local server, token, revision, protects, changed, dropped = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
if redis.call('HGET', META, 'run') ~= token then return { 'STALE' } end
redis.call('HSET', META, 'revision', revision, 'protects', protects)
for _, uid in ipairs(cjson.decode(dropped)) do withdraw_from_claims(uid) end
for uid, entry in pairs(cjson.decode(changed)) do
  withdraw_from_claims(uid)
  local pod = load_pod(uid)
  if pod and pod.view == 'open' and busy_slots(pod) == 0 then
    redis.call('ZADD', CLAIMABLE, entry.at, uid)
    redis.call('HSET', FACTS, uid, entry.facts)
    if entry.owner ~= '' then redis.call('ZADD', PREFIX .. 'owned:' .. entry.owner, entry.at, uid) end
  end
end
return { 'OK', redis.call('HGET', META, 'told') or '' }
