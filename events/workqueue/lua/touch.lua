--[[ Marks keys dirty without a change of their snapshots.
KEYS  as in head.lua
ARGV  key, hint, key, hint, ...
Returns the keys that were queued.
]]
local found = {}
for i = 1, #ARGV, 2 do
  if touch(ARGV[i], ARGV[i + 1]) == 1 then found[#found + 1] = ARGV[i] end
end
return found
