-- The free ports of each kind of precreated listeners that are kept for nobody; nil: in this pool all ports are alike.
--- @include "lib/keys"
--- @include "lib/get_bit"
--- @include "lib/numbers"
local function free_kinds()
  local meta = call('HMGET', META, 'precreated', 'kept')
  local counts, kept, free = numbers(meta[1]), numbers(meta[2]), {}
  if #counts == 0 then return nil end
  for kind in ipairs(counts) do free[kind] = -(kept[kind] or 0) end
  for _, lb in ipairs(call('ZRANGE', ORDER, 0, -1)) do
    local bits, first = call('HGET', LBS, 'taken:' .. lb) or '', 0
    for kind, count in ipairs(counts) do
      for offset = first, first + count - 1 do
        if not get_bit(bits, offset) then free[kind] = free[kind] + 1 end
      end
      first = first + count
    end
  end
  return free
end
