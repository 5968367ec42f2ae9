-- Frees the port of an entry that is releasing, or that this very run allocated; wakes the waiters that now fit.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (not this uid's, or still in use) | {'OK', woken names}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
--- @include "lib/charge"
--- @include "lib/split_key"
--- @include "lib/use_of"
--- @include "lib/set_bit"
--- @include "lib/add_absent"
--- @include "lib/reindex"
--- @include "lib/wake_waiters"
--- @include "lib/add_uncapped"
local server, mark, name, token, uid, key = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries = entries_of(name)
local entry = entries[key]
if not entry or entry.uid ~= uid then return { 'CHANGED' } end
local just_allocated = entry.state == 'allocated' and entry.token == token and not entry.listener
if entry.state ~= 'releasing' and not just_allocated then return { 'CHANGED' } end
entries[key] = nil
save_entries(name, entries)
charge(name, -1)
local lb, port = split_key(key)
local used, capacity, bits, absent = use_of(lb)
local capacity_now = capacity
if absent and call('HEXISTS', STOCK, key) == 0 then -- its precreated listener is not there
  add_absent(lb, absent, port)
  capacity_now = capacity and capacity - 1
else
  bits = set_bit(bits, port - call('HGET', META, 'start'), false)
end
call('HSET', LBS, 'used:' .. lb, used - 1, 'taken:' .. lb, bits)
reindex(lb, used, capacity, used - 1, capacity_now)
return { 'OK', add_uncapped(wake_waiters(), name) }
