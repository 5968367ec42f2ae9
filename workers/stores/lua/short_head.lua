-- Shared head, after waiting_head: what is short, now and after the load balancers that are being filled (COMING) are full.
-- KEYS[1] as there.
-- ARGV and returns: see each script.
local function add_coming(counts, found) -- adds the precreated ports that are still to come, by kind
  local start = tonumber(call('HGET', META, 'start'))
  for _, lb in ipairs(call('HKEYS', COMING)) do
    for _, port in ipairs(cjson.decode(call('HGET', LBS, 'a:' .. lb) or '[]')) do
      local off, kind = port - start, 1
      while counts[kind] and off >= counts[kind] do off, kind = off - counts[kind], kind + 1 end
      if counts[kind] then found[kind] = found[kind] + 1 end
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

local function short(capacity) -- ports that are wanted and not there, and load balancers of so many ports that they need
  local m = call('HMGET', META, 'demand', 'stuck', 'free', 'precreated')
  local counts, stuck = numbers(m[4]), tonumber(m[2] or 0)
  if #counts > 0 then return short_of_kinds(counts) end
  local ports = math.max(0, tonumber(m[1] or 0) - stuck - tonumber(m[3] or 0)) + stuck
  return ports, capacity and math.ceil(ports / capacity)
end
