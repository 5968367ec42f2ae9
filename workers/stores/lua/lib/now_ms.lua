-- The server's time in ms.
--- @include "lib/now_us"
local function now_ms() return math.floor(now_us() / 1000) end
