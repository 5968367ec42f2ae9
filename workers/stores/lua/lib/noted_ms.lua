-- Returns the server's time in ms, to be stored. Notes TIME when it is far ahead of the last look at retained entries: the note
-- shows when TIME has gone back (rule clock).
--- @include "lib/keys"
--- @include "lib/now_ms"
local function noted_ms()
  local now = now_ms()
  if now > tonumber(call('HGET', META, 'swept') or 0) + 2000 then call('HSET', META, 'swept', now) end
  return now
end
