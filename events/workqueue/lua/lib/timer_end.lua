-- Returns when a lease or wait of `length` ms ends, as TIMER stores it. Notes TIME when it is far ahead of the last sweep: the
-- note shows when TIME has gone back.
--- @include "lib/keys"
--- @include "lib/now_ms"
local function timer_end(length)
  local now = now_ms()
  if now > tonumber(redis.call('HGET', META, 'noted') or 0) + 2000 then redis.call('HSET', META, 'noted', now) end
  return now + length
end
