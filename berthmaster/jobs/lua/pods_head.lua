-- Third head: pods, their slots, and the index of free ones.
-- KEYS[1] as in names_head. A pod is JSON {n name, v view, k token, t ms of its last report, c of its closing, l [class, ...],
--   s [false or {j job, a attempt, s state, g grant}, ...]}.
-- ARGV and returns: see each script. View: new (reported, not open yet), open, fenced, claimed. Only open pods are in free:CLASS, the
-- fullest first. The state of a slot is running or reserved; nobody counts them but who reads them all.
local function pod_of(uid)
  local json = call('HGET', PODS, uid)
  local pod = json and json_of(json)
  if is_pod(pod) then return pod end
  if json then call('HDEL', PODS, uid) end
end

local function busy(pod)
  local n = 0
  for _, slot in ipairs(pod.s) do if slot then n = n + 1 end end
  return n
end

local function unclaimable(uid)
  if call('ZREM', CLAIMABLE, uid) == 0 then return end
  local facts = call('HGET', FACTS, uid)
  local owner = facts and (json_of(facts) or {}).lastOwner
  call('HDEL', FACTS, uid)
  if type(owner) == 'string' and owner ~= '' then call('ZREM', P .. 'owned:' .. owner, uid) end
end

local function keep_pod(uid, pod) -- and its place in the index
  call('HSET', PODS, uid, cjson.encode(pod))
  if pod.v ~= 'open' then unclaimable(uid) end
  local free = {}
  for x, class in ipairs(pod.l) do free[class] = free[class] or not pod.s[x] end
  for class, has in pairs(free) do
    if has and pod.v == 'open' then call('ZADD', P .. 'free:' .. class, -busy(pod), uid)
    else call('ZREM', P .. 'free:' .. class, uid) end
  end
end

local function set_slot(uid, pod, x, slot) -- false: idle
  pod.s[x] = slot
  keep_pod(uid, pod)
end
