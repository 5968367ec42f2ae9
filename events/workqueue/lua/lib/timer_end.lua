-- Returns when a lease or wait of `length` ms ends, as TIMER stores it.
--- @include "lib/noted_ms"
local function timer_end(length)
  return noted_ms() + length
end
