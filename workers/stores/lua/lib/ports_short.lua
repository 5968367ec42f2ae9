-- The ports that are wanted and not there, now and after the load balancers that are being filled (COMING) are full; and how many
-- load balancers of `capacity` ports those need.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/waiting_keys"
--- @include "lib/demand_of"
--- @include "lib/free_kinds"
--- @include "lib/numbers"
local function add_coming(counts, free) -- adds the precreated ports that are still to come, by kind
  local start = tonumber(call('HGET', META, 'start'))
  for _, lb in ipairs(call('HKEYS', COMING)) do
    for _, port in ipairs(cjson.decode(call('HGET', LBS, 'absent:' .. lb) or '[]')) do
      local offset, kind = port - start, 1
      while counts[kind] and offset >= counts[kind] do offset, kind = offset - counts[kind], kind + 1 end
      if counts[kind] then free[kind] = free[kind] + 1 end
    end
  end
end

local function add_lacking(wanted, free, left, lacking) -- what one waiter wants beyond what is left, which it takes
  local fitting = true
  for kind, ports in ipairs(wanted) do fitting = fitting and ports <= free[kind] end
  for kind, ports in ipairs(wanted) do
    local taken = fitting and 0 or math.min(ports, math.max(0, left[kind])) -- it has failed with as many free: not in a row
    left[kind], lacking[kind] = left[kind] - taken, lacking[kind] + ports - taken
  end
end

local function short_of_kinds(counts)
  local free, left, lacking, ports, lbs = free_kinds(), free_kinds(), {}, 0, 0
  for kind in ipairs(counts) do lacking[kind] = 0 end
  add_coming(counts, left)
  for _, name in ipairs(call('ZRANGE', WAITING, 0, -1)) do
    local _, _, _, _, kinds = demand_of(name)
    add_lacking(numbers(kinds), free, left, lacking)
  end
  for kind, more in ipairs(lacking) do
    ports, lbs = ports + more, math.max(lbs, more > 0 and math.ceil(more / math.max(1, counts[kind])) or 0)
  end
  return ports, lbs
end

local function ports_short(capacity)
  local meta = call('HMGET', META, 'demand', 'stuck', 'free', 'precreated')
  local counts, stuck = numbers(meta[4]), tonumber(meta[2] or 0)
  if #counts > 0 then return short_of_kinds(counts) end
  local ports = math.max(0, tonumber(meta[1] or 0) - stuck - tonumber(meta[3] or 0)) + stuck
  return ports, capacity and math.ceil(ports / capacity)
end
