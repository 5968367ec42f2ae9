-- Gives up an entry whose port carries a listener that is not ours: the port stays taken, the load balancer has one place less.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK', woken names}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
--- @include "lib/charge"
--- @include "lib/split_key"
--- @include "lib/use_of"
--- @include "lib/set_bit"
--- @include "lib/reindex"
--- @include "lib/wake_waiters"
--- @include "lib/add_uncapped"
local server, mark, name, token, uid, key = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries, lb, port = entries_of(name), split_key(key)
local entry = entries[key]
if not entry or entry.uid ~= uid or entry.state == 'releasing' then return { 'CHANGED' } end
entries[key] = nil
save_entries(name, entries)
charge(name, -1)
local used, capacity, bits, absent = use_of(lb)
local json, capacity_now = call('HGET', LBS, 'facts:' .. lb), capacity
if json then
  local facts, contested = cjson.decode(json), {}
  facts.foreign[#facts.foreign + 1] = tonumber(port)
  for _, other in ipairs(facts.contested) do if other ~= tonumber(port) then contested[#contested + 1] = other end end
  local counted = #contested < #facts.contested -- a contested port is counted already, if not by its listener
  if capacity and (absent or not counted) then
    capacity_now = capacity - 1
    call('HSET', LBS, 'capacity:' .. lb, capacity_now)
  end
  facts.contested = contested
  call('HSET', LBS, 'facts:' .. lb, cjson.encode(facts))
else -- the load balancer is in the pool no more, so that nobody knows its strangers
  bits = set_bit(bits, port - call('HGET', META, 'start'), false)
end
call('HSET', LBS, 'used:' .. lb, used - 1, 'taken:' .. lb, bits)
call('HDEL', STOCK, key)
reindex(lb, used, capacity, used - 1, capacity_now)
return { 'OK', add_uncapped(wake_waiters(), name) }
