-- Requests that the targets of a precreated port be compared with AWS by the next run that owns it.
--- @include "lib/keys"
--- @include "lib/stock_keys"
local function compare_targets(key) call('HSET', COMPARE, key, call('HINCRBY', META, 'comparison', 1)) end
