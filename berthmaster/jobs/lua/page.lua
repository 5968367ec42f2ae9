-- Pods that a claim may have: those that this owner had last, then the oldest from `start` on. What has got jobs meanwhile is left out.
-- KEYS[1] prefix of the pool.
-- ARGV server, owner ('' for none), start, count.
-- Returns {'NOT_READY'} | {'OK', facts of pods of that owner [JSON, ...], facts of others [JSON, ...]}; a pod may be in both.
local server, owner, start, count = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local ROUNDS = 20

local function idle(uid)
  local pod = pod_of(uid)
  return pod and pod.v == 'open' and busy(pod) == 0 and call('HEXISTS', FACTS, uid) == 1
end

local function from(key, first) -- what is left out makes room for the next: the run of the pool puts it back
  local facts
  for _ = 1, ROUNDS do
    local whole = true
    facts = {}
    for _, uid in ipairs(call('ZRANGE', key, first, first + count - 1)) do
      if idle(uid) then
        facts[#facts + 1] = call('HGET', FACTS, uid)
      else
        unclaimable(uid)
        call('ZREM', key, uid)
        whole = false
      end
    end
    if whole then break end
  end
  return facts
end

return { 'OK', owner ~= '' and from(P .. 'owned:' .. owner, 0) or {}, from(CLAIMABLE, start) }
