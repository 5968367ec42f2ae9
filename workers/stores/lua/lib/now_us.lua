-- The server's time in microseconds.
--- @include "lib/keys"
local function now_us()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end
