-- Shared head, after bits_head: precreated listeners. Only a load balancer of a pool with such has a:LB, its ports without one.
-- KEYS[1] as there. STOCK has `lb:port` -> `listener ARN target group ARN`; COMING has LB -> listeners that are still to be
-- made; COMPARE has `lb:port` -> the wish that its targets be compared with AWS: a number that was never used before, so
-- that only a run that has seen it can end it.
-- ARGV and returns: see each script. A port neither in stock nor held has its bit set; c:LB counts those in stock or held.
local function wish(key) call('HSET', COMPARE, key, call('HINCRBY', META, 'wish', 1)) end

local function coming(lb, change)
  if call('HINCRBY', COMING, lb, change) <= 0 then call('HDEL', COMING, lb) end
end

local function lacks(lb, absent, port) -- a free port has lost its listener
  absent = cjson.decode(absent)
  absent[#absent + 1] = port + 0
  call('HSET', LBS, 'a:' .. lb, cjson.encode(absent))
  if call('HEXISTS', LBS, 'c:' .. lb) == 1 then
    call('HINCRBY', LBS, 'c:' .. lb, -1)
    coming(lb, 1)
  end
end

local function supply(lbs) -- what AWS has of the pool's load balancers is in stock, and nothing of other ones
  local there = {}
  for _, lb in ipairs(lbs) do
    there[lb.name] = true
    for _, row in ipairs(lb.stock or {}) do
      local key = lb.name .. ':' .. row[1]
      if call('HSETNX', STOCK, key, row[2] .. ' ' .. row[3]) == 1 then wish(key) end -- nobody here knows what it was used for
    end
  end
  for _, key in ipairs(call('HKEYS', STOCK)) do if not there[port_of(key)] then call('HDEL', STOCK, key) end end
end

local function furnish(lb, bits, strangers, most) -- bits with what is not in stock taken; what it can carry now, of `most`
  local m, keys, absent = call('HMGET', META, 'start', 'size', 'precreated'), {}, {}
  if (m[3] or '') == '' then return bits, most > 0 and most or nil end
  for off = 0, m[2] - 1 do keys[#keys + 1] = lb .. ':' .. m[1] + off end
  for n, row in ipairs(call('HMGET', STOCK, unpack(keys))) do
    if not row and not bit_get(bits, n - 1) then
      absent[#absent + 1], bits = m[1] + n - 1, bit_set(bits, n - 1, true)
    end
  end
  call('HSET', LBS, 'a:' .. lb, cjson.encode(absent))
  local now = m[2] - #absent - strangers
  local more = math.min(#absent, most - now)
  if more > 0 then call('HSET', COMING, lb, more) end
  return bits, most > 0 and now or nil
end
