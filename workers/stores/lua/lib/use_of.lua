-- The use of a load balancer: ports in use, ports that it may carry (nil: it gives no new ones), bits, ports without their
-- precreated listener (JSON, nil in other pools).
--- @include "lib/keys"
local function use_of(lb)
  local row = call('HMGET', LBS, 'used:' .. lb, 'capacity:' .. lb, 'taken:' .. lb, 'absent:' .. lb)
  return tonumber(row[1]) or 0, tonumber(row[2]), row[3] or '', row[4]
end
