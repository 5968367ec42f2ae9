-- Gives the next ready key to a run, in the script that asks (rule one-script).
--- @include "lib/keys"
--- @include "lib/classes"
--- @include "lib/grant"
local CYCLE = {} --- @table "cycle"

-- Takes the oldest key of a class off its queue. Returns nil if none is dirty and free.
local function pop(class)
  local key = redis.call('ZPOPMIN', ready_queue(class))[1]
  while key and (redis.call('HEXISTS', DIRTY, key) == 0 or redis.call('HEXISTS', HOLDERS, key) == 1) do
    key = redis.call('ZPOPMIN', ready_queue(class))[1]
  end
  return key
end

-- Returns what the run needs, or 'clean' if no key is ready. Rule turns: the class whose turn it is comes first, then the
-- others in their order of priority.
local function grant_next(lease, nonce)
  local key = pop(CYCLE[redis.call('HINCRBY', META, 'turn', 1) % #CYCLE + 1])
  for class = 1, SLOW do key = key or pop(class) end
  return key and grant(key, lease, nonce) or 'clean'
end
