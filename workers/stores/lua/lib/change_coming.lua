-- Changes how many precreated listeners of a load balancer are still to be made.
--- @include "lib/keys"
--- @include "lib/stock_keys"
local function change_coming(lb, change)
  if call('HINCRBY', COMING, lb, change) <= 0 then call('HDEL', COMING, lb) end
end
