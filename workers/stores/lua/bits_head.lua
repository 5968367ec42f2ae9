-- Shared head, after gate_head: the ports of one load balancer as a string of bits, the lowest bit of a byte first.
-- KEYS[1] as there. Bit 0 is the pool's first port; bits beyond the string are free: a string is as long as its highest use.
-- ARGV and returns: see each script.
local function bit_get(bits, off)
  local byte = bits:byte(math.floor(off / 8) + 1)
  return byte ~= nil and bit.band(byte, bit.lshift(1, off % 8)) ~= 0
end

local function bit_set(bits, off, on) -- a port outside 1 to 65535 has no bit: tags and annotations may say anything
  if off < 0 or off > 65535 then return bits end
  local at = math.floor(off / 8) + 1
  if #bits < at then bits = bits .. string.rep('\0', at - #bits) end
  local byte, mask = bits:byte(at), bit.lshift(1, off % 8)
  byte = on and bit.bor(byte, mask) or bit.band(byte, bit.bnot(mask))
  return bits:sub(1, at - 1) .. string.char(byte) .. bits:sub(at + 1)
end

local function use_of(lb) -- in use, may carry (nil: gives no new ports), bits, ports without their precreated listener
  local row = call('HMGET', LBS, 'u:' .. lb, 'c:' .. lb, 'b:' .. lb, 'a:' .. lb)
  return tonumber(row[1]) or 0, tonumber(row[2]), row[3] or '', row[4]
end

local function reindex(lb, used, most, now, now_most) -- `used` of `most` has become `now` of `now_most`
  if now == 0 and (used > 0 or call('HEXISTS', LBS, 'e:' .. lb) == 0) then
    call('HSET', LBS, 'e:' .. lb, string.format('%.0f', math.floor(now_us() / 1000)))
  end
  local before, after = math.max(0, (most or 0) - used), math.max(0, (now_most or 0) - now)
  if before ~= after then call('HINCRBY', META, 'free', after - before) end
  if before < after then call('HINCRBY', META, 'freed', 1) end -- who did not fit may fit now
  if after > 0 then
    call('ZADD', ROOM, now, lb)
    if before == 0 then call('ZADD', ORDER, cjson.decode(call('HGET', LBS, 'j:' .. lb)).position, lb) end
  elseif before > 0 then
    call('ZREM', ROOM, lb); call('ZREM', ORDER, lb)
  end
end

local function inherit(lb, was) -- how long it is empty, and that it is retiring: that stays with the load balancer of one ARN
  if was.e then call('HSET', LBS, 'e:' .. lb.name, string.format('%.0f', math.min(was.e, now_us() / 1000))) end
  if was.r and cjson.decode(was.j).arn == lb.arn then lb.retiring = true end
  if lb.retiring then lb.capacity = 0; call('HSET', LBS, 'r:' .. lb.name, 1) end
end
