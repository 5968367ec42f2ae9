--[[ Marks keys dirty without a change of their snapshots.
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, JSON list of pools to add ('' = none), '1' = nobody waits for these runs, trace, key, key, ...
Returns the ids of the hints that the caller sends.
]]
--- @include "lib/keys"
--- @include "lib/add_pools"
--- @include "lib/mark_dirty"
--- @include "lib/top_up"
local incarnation, pools, slow, trace = unpack(ARGV, 1, 4)
for i = 5, #ARGV do
  add_pools(ARGV[i], pools)
  mark_dirty(ARGV[i], trace, slow == '1')
end
return top_up(redis.call('HGET', META, 'run') == incarnation)
