-- Makes a key ready, in the class of its kind, or in the slow class if nobody waits for it. Returns whether it was in no
-- ready queue before. Rule promote: an event moves a slow key to its own class, and an audit moves none back.
--- @include "lib/classes"
--- @include "lib/noted_ms"
--- @include "lib/own_queue"
local function enqueue(key, slow)
  local own, slow_queue = own_queue(key), ready_queue(SLOW)
  if redis.call('ZSCORE', own, key) then return false end
  if slow then return redis.call('ZADD', slow_queue, 'NX', noted_ms(), key) == 1 end
  local promoted = redis.call('ZREM', slow_queue, key)
  redis.call('ZADD', own, noted_ms(), key)
  return promoted == 0
end
