-- Pods that a claim may have: those that this owner had last, then the oldest from `start` on. What has got jobs meanwhile is left out.
-- KEYS[1] prefix of the pool.
-- ARGV server, owner ('' for none), start, count.
-- Returns {'NOT_READY'} | {'OK', facts of pods of that owner [JSON, ...], facts of others [JSON, ...]}; a pod may be in both.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/pods"
--- @include "lib/busy_slots"
--- @include "lib/withdraw_from_claims"
local server, owner, start, count = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local ROUNDS = 20

local function is_claimable(uid)
  local pod = load_pod(uid)
  return pod and pod.view == 'open' and busy_slots(pod) == 0 and redis.call('HEXISTS', FACTS, uid) == 1
end

local function facts_from(key, first) -- what is left out makes room for the next: the run of the pool puts it back
  local facts
  for _ = 1, ROUNDS do
    local complete = true
    facts = {}
    for _, uid in ipairs(redis.call('ZRANGE', key, first, first + count - 1)) do
      if is_claimable(uid) then
        facts[#facts + 1] = redis.call('HGET', FACTS, uid)
      else
        withdraw_from_claims(uid)
        redis.call('ZREM', key, uid)
        complete = false
      end
    end
    if complete then break end
  end
  return facts
end

return { 'OK', owner ~= '' and facts_from(PREFIX .. 'owned:' .. owner, 0) or {}, facts_from(CLAIMABLE, start) }
