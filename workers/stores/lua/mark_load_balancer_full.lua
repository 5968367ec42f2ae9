-- Gives back an entry for which AWS takes no listener: its load balancer is full, and stays so here until it is listed again.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (not this uid's, or it has a listener or had one) | {'OK', woken names}.
--- @include "lib/keys"
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
local entries = entries_of(name)
local entry = entries[key]
local without_listener = entry and entry.state == 'allocated' and (entry.listener or '') == ''
if not without_listener or entry.uid ~= uid then return { 'CHANGED' } end
entries[key] = nil
save_entries(name, entries)
charge(name, -1)
local lb, port = split_key(key)
local used, capacity, bits = use_of(lb)
local capacity_now = capacity and math.min(capacity, used - 1)
if capacity then call('HSET', LBS, 'capacity:' .. lb, capacity_now) end
local bits_now = set_bit(bits, port - call('HGET', META, 'start'), false)
call('HSET', LBS, 'used:' .. lb, used - 1, 'taken:' .. lb, bits_now)
reindex(lb, used, capacity, used - 1, capacity_now)
return { 'OK', add_uncapped(wake_waiters(), name) }
