-- Sets a pool's state, range and load balancers as its spec and the cloud have them; more capacity raises the epoch and wakes.
-- KEYS[1] prefix of the pool.
-- ARGV server, epoch read, state, config JSON, first port, ports in the range, load balancers JSON
--   [{name, arn, dns, slot (-1: not ours), position, capacity (0: no new ports), foreign [port, ...]}, ...]: all that the pool has.
-- Returns {'NOT_READY'} | {'OLD', epoch} (read again) | {'OK', epoch, woken names...}.
local server, seen, state, config, start, size, lbs = unpack(ARGV)
if not ready(server, '') then return { 'NOT_READY' } end
local epoch = call('HGET', META, 'epoch')
if epoch ~= seen then return { 'OLD', epoch } end
local before = tonumber(call('HGET', META, 'free') or 0)

local function mark_foreign(lb, known, ports) -- returns the ports that only strangers use; what an owner holds is not theirs
  local bits, strangers = call('HGET', BITS, lb) or '', {}
  for _, port in ipairs(known) do
    if port >= start + 0 and port < start + size then bits = bit_set(bits, port - start, false) end
  end
  for _, port in ipairs(ports) do
    if port >= start + 0 and port < start + size and not bit_get(bits, port - start) then
      bits = bit_set(bits, port - start, true)
      strangers[#strangers + 1] = port
    end
  end
  if #bits > 0 then call('HSET', BITS, lb, bits) end
  return strangers
end

local was = {}
for name, json in pairs((function(flat) local t = {}; for i = 1, #flat, 2 do t[flat[i]] = flat[i + 1] end; return t end)(call('HGETALL', LBS))) do
  was[name] = cjson.decode(json)
end
call('DEL', LBS, CAP, SLOTS, ORDER, ROOM)
local free = 0
for _, lb in ipairs(cjson.decode(lbs)) do
  local strangers = mark_foreign(lb.name, was[lb.name] and was[lb.name].foreign or {}, lb.foreign)
  local known = { arn = lb.arn, dns = lb.dns, slot = lb.slot, position = lb.position, foreign = strangers }
  call('HSET', LBS, lb.name, cjson.encode(known))
  if lb.slot >= 0 then call('HSET', SLOTS, lb.slot, lb.name) end
  local used = tonumber(call('HGET', USED, lb.name) or 0)
  if lb.capacity > 0 then
    call('HSET', CAP, lb.name, lb.capacity)
    free = free + lb.capacity - used
    if used < lb.capacity then call('ZADD', ROOM, used, lb.name); call('ZADD', ORDER, lb.position, lb.name) end
  end
end
call('HSET', META, 'state', state, 'config', config, 'start', start, 'size', size, 'free', free)
if free > before then epoch = string.format('%.0f', call('HINCRBY', META, 'epoch', 1)) end
return { 'OK', epoch, unpack(wake()) }
