--[[ Sets a pool's state, range and load balancers as its spec and the cloud have them; more capacity raises the epoch and wakes.
KEYS[1] prefix of the pool
ARGV  server, number of the queue's newest token, epoch read, state, config JSON, first port, ports in the range,
      kinds of precreated listeners (META precreated), JSON [{name, arn, dns, slot (-1: not ours), position, capacity (0: no new
      ports), foreign [port, ...], stock [[port, listener ARN, target group ARN], ...], retiring}, ...]: all load balancers of the pool
Returns {'NOT_READY'} | {'OLD', epoch} (read again) | {'OK', epoch, woken names}.
]]
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/pool_keys"
--- @include "lib/verified_under"
--- @include "lib/split_key"
--- @include "lib/get_bit"
--- @include "lib/set_bit"
--- @include "lib/use_of"
--- @include "lib/now_us"
--- @include "lib/compare_targets"
--- @include "lib/apply_stock"
--- @include "lib/reindex"
--- @include "lib/wake_waiters"
--- @include "lib/add_uncapped"
local server, newest, epoch_read, state, config, start, size, precreated, lbs = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local epoch = call('HGET', META, 'epoch')
if epoch ~= epoch_read then return { 'OLD', epoch } end
lbs = cjson.decode(lbs)

-- 1. What is there now: {[load balancer] = {field = value}}.
local before, fields = {}, call('HGETALL', LBS)
for i = 1, #fields, 2 do
  local field, lb = fields[i]:match('^(%l+):(.*)$')
  before[lb] = before[lb] or {}
  before[lb][field] = fields[i + 1]
end
local free_before = tonumber(call('HGET', META, 'free') or 0)

-- 2. The pool itself.
call('DEL', LBS, SLOTS, ORDER, ROOM, COMING)
local share = (cjson.decode(config).spec or {}).maxPortsPerNamespace
if type(share) == 'number' then call('HSET', META, 'share', share) else call('HDEL', META, 'share') end
call('HSETNX', META, 'floor', string.format('%.0f', newest + 1)) -- the first time after a rebuild (rule newest)
call('HSET', META, 'state', state, 'config', config, 'start', start, 'size', size, 'precreated', precreated, 'free', 0)

-- 3. What owners hold stays, also on a load balancer that is in the pool no more. Strangers and stock are set anew.
local function without(bits, ports)
  for _, port in ipairs(ports) do bits = set_bit(bits, port - start, false) end
  return bits
end
for lb, row in pairs(before) do
  local strangers = row.facts and cjson.decode(row.facts).foreign or {}
  local bits = without(without(row.taken or '', strangers), cjson.decode(row.absent or '[]'))
  if tonumber(row.used or 0) > 0 then call('HSET', LBS, 'used:' .. lb, row.used, 'taken:' .. lb, bits) end
end

-- 4. The stock is what AWS has of the pool's load balancers, and nothing of other ones.
local in_pool = {}
for _, lb in ipairs(lbs) do
  in_pool[lb.name] = true
  for _, row in ipairs(lb.stock or {}) do
    local key = lb.name .. ':' .. row[1]
    local new = call('HSETNX', STOCK, key, row[2] .. ' ' .. row[3]) == 1
    if new then compare_targets(key) end -- nobody here knows what it was used for
  end
end
for _, key in ipairs(call('HKEYS', STOCK)) do
  if not in_pool[split_key(key)] then call('HDEL', STOCK, key) end
end

-- 5. The load balancers.
local function add_strangers(bits, facts, ports) -- `contested`: an owner holds the stranger's port; a run finds out
  facts.foreign, facts.contested = {}, {}
  for _, port in ipairs(ports) do
    local offset = port - start
    if offset >= 0 and offset < size + 0 then
      local list = get_bit(bits, offset) and facts.contested or facts.foreign
      list[#list + 1], bits = port, set_bit(bits, offset, true)
    end
  end
  return bits
end
for _, lb in ipairs(lbs) do
  local row, used, _, bits = before[lb.name] or {}, use_of(lb.name)
  local facts = { arn = lb.arn, dns = lb.dns, slot = lb.slot, position = lb.position }
  if row.empty then
    call('HSET', LBS, 'empty:' .. lb.name, string.format('%.0f', math.min(row.empty, now_us() / 1000)))
  end
  -- Retiring is never taken back, but stays with the load balancer of one ARN.
  local retiring = lb.retiring or row.retiring and cjson.decode(row.facts).arn == lb.arn
  if retiring then call('HSET', LBS, 'retiring:' .. lb.name, 1) end
  bits = add_strangers(bits, facts, lb.foreign)
  local bits_now, capacity = apply_stock(lb.name, bits, #facts.foreign, retiring and 0 or lb.capacity)
  call('HSET', LBS, 'facts:' .. lb.name, cjson.encode(facts), 'used:' .. lb.name, used, 'taken:' .. lb.name, bits_now)
  if lb.slot >= 0 then call('HSET', SLOTS, lb.slot, lb.name) end
  if capacity then call('HSET', LBS, 'capacity:' .. lb.name, capacity) end
  reindex(lb.name, used, nil, used, capacity)
end

-- 6. More capacity raises the epoch.
local grown = tonumber(call('HGET', META, 'free')) > free_before
if grown then epoch = string.format('%.0f', call('HINCRBY', META, 'epoch', 1)) end
return { 'OK', epoch, add_uncapped(wake_waiters()) }
