-- Returns the server's time in ms, to be stored. Notes TIME when it is far ahead of the last sweep, and takes it for that of the last
-- sweep when it is far behind: the notes show that TIME has gone back, or ahead again, when no sweep came between (rule clock).
--- @include "lib/keys"
--- @include "lib/now_ms"
local function noted_ms()
  local now, meta = now_ms(), redis.call('HMGET', META, 'noted', 'swept')
  if now > tonumber(meta[1] or 0) + 2000 then redis.call('HSET', META, 'noted', now) end
  if now < tonumber(meta[2] or 0) - 2000 then redis.call('HSET', META, 'swept', now) end
  return now
end
