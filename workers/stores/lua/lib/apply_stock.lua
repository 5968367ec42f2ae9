-- Applies the stock of precreated listeners to a load balancer, of whose ports strangers use so many. Returns the bits, in which
-- ports without a listener are taken, and what it can carry now, of `capacity` (nil: it gives no new ports).
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/get_bit"
--- @include "lib/set_bit"
local function apply_stock(lb, bits, strangers, capacity)
  local meta, keys, absent = call('HMGET', META, 'start', 'size', 'precreated'), {}, {}
  local start, size, precreated = meta[1], meta[2], meta[3] or ''
  if precreated == '' then return bits, capacity > 0 and capacity or nil end
  for offset = 0, size - 1 do keys[#keys + 1] = lb .. ':' .. start + offset end
  for n, row in ipairs(call('HMGET', STOCK, unpack(keys))) do
    if not row and not get_bit(bits, n - 1) then
      absent[#absent + 1], bits = start + n - 1, set_bit(bits, n - 1, true)
    end
  end
  call('HSET', LBS, 'absent:' .. lb, cjson.encode(absent))
  local capacity_now = size - #absent - strangers
  local missing = math.min(#absent, capacity - capacity_now)
  if missing > 0 then call('HSET', COMING, lb, missing) end
  return bits, capacity > 0 and capacity_now or nil
end
