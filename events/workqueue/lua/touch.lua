--[[ Marks keys dirty without a change of their snapshots.
KEYS  as in head.lua
ARGV  JSON list of pools to remember ('' = none), key, hint, key, hint, ...
Returns the keys that were queued.
]]
local found = {}
for i = 2, #ARGV, 2 do
  add_pools(ARGV[i], ARGV[1])
  if touch(ARGV[i], ARGV[i + 1]) == 1 then found[#found + 1] = ARGV[i] end
end
return found
