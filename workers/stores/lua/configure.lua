-- Sets a pool's state, range and load balancers as its spec and the cloud have them; more capacity raises the epoch and wakes.
-- KEYS[1] prefix of the pool.
-- ARGV server, epoch read, state, config JSON, first port, ports in the range, kinds of precreated listeners (demand_head), JSON
--   [{name, arn, dns, slot (-1: not ours), position, capacity (0: no new ports), foreign [port, ...], stock [[port,
--   listener ARN, target group ARN], ...], retiring}, ...]: all load balancers that the pool has.
-- Returns {'NOT_READY'} | {'OLD', epoch} (read again) | {'OK', epoch, woken names}.
local server, seen, state, config, start, size, precreated, lbs = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local epoch = call('HGET', META, 'epoch')
if epoch ~= seen then return { 'OLD', epoch } end

local function clear(bits, ports)
  for _, port in ipairs(ports) do bits = bit_set(bits, port - start, false) end
  return bits
end

local function mark(bits, ports) -- the bits; ports that only strangers use; ports of strangers that an owner holds (a run finds out)
  local foreign, contested = {}, {}
  for _, port in ipairs(ports) do
    local off = port - start
    if off >= 0 and off < size + 0 then
      local list = bit_get(bits, off) and contested or foreign
      list[#list + 1], bits = port, bit_set(bits, off, true)
    end
  end
  return bits, foreign, contested
end

local flat, was = call('HGETALL', LBS), {}
for i = 1, #flat, 2 do
  local lb = flat[i]:sub(3)
  was[lb] = was[lb] or {}
  was[lb][flat[i]:sub(1, 1)] = flat[i + 1]
end
call('DEL', LBS, SLOTS, ORDER, ROOM, COMING)
local share = (cjson.decode(config).spec or {}).maxPortsPerNamespace
if type(share) == 'number' then call('HSET', META, 'share', share) else call('HDEL', META, 'share') end
local before = tonumber(call('HGET', META, 'free') or 0)
call('HSET', META, 'state', state, 'config', config, 'start', start, 'size', size, 'precreated', precreated, 'free', 0)
for lb, row in pairs(was) do -- what owners hold stays, also on a load balancer that is in the pool no more
  local bits = clear(clear(row.b or '', row.j and cjson.decode(row.j).foreign or {}), cjson.decode(row.a or '[]'))
  if tonumber(row.u or 0) > 0 then call('HSET', LBS, 'u:' .. lb, row.u, 'b:' .. lb, bits) end
end
lbs = cjson.decode(lbs)
supply(lbs)
for _, lb in ipairs(lbs) do
  local used, _, bits = use_of(lb.name)
  inherit(lb, was[lb.name] or {})
  local facts = { arn = lb.arn, dns = lb.dns, slot = lb.slot, position = lb.position }
  bits, facts.foreign, facts.contested = mark(bits, lb.foreign)
  local now_bits, most = furnish(lb.name, bits, #facts.foreign, lb.capacity)
  call('HSET', LBS, 'j:' .. lb.name, cjson.encode(facts), 'u:' .. lb.name, used, 'b:' .. lb.name, now_bits)
  if lb.slot >= 0 then call('HSET', SLOTS, lb.slot, lb.name) end
  if most then call('HSET', LBS, 'c:' .. lb.name, most) end
  reindex(lb.name, used, nil, used, most)
end
local grown = tonumber(call('HGET', META, 'free')) > before
if grown then epoch = string.format('%.0f', call('HINCRBY', META, 'epoch', 1)) end
return { 'OK', epoch, admit(wake()) }
