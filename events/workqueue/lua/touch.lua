--[[ Marks keys dirty without a change of their snapshots.
KEYS  as in lib/keys.lua
ARGV  JSON list of pools to add ('' = none), key, hint, key, hint, ...
Returns the keys that were queued.
]]
--- @include "lib/add_pools"
--- @include "lib/mark_dirty"
local pools, queued = ARGV[1], {}
for i = 2, #ARGV, 2 do
  local key, hint = ARGV[i], ARGV[i + 1]
  add_pools(key, pools)
  if mark_dirty(key, hint) == 1 then queued[#queued + 1] = key end
end
return queued
