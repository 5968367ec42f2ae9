-- Queues a key; pushes its hint if the broker's list is in this Redis.
--- @include "lib/keys"
--- @include "lib/now_ms"
local function enqueue(key, hint)
  redis.call('ZADD', QUEUED, now_ms(), key)
  if HINTS and hint then redis.call('LPUSH', HINTS, hint) end
end
