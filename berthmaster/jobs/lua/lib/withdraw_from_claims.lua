-- Takes a pod from the index of those that a claim may have.
--- @include "lib/keys"
--- @include "lib/decode_json"
local function withdraw_from_claims(uid)
  if redis.call('ZREM', CLAIMABLE, uid) == 0 then return end
  local facts = redis.call('HGET', FACTS, uid)
  local owner = facts and (decode_json(facts) or {}).lastOwner
  redis.call('HDEL', FACTS, uid)
  if type(owner) == 'string' and owner ~= '' then redis.call('ZREM', PREFIX .. 'owned:' .. owner, uid) end
end
