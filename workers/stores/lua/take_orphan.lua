-- Takes a free port as releasing for the owner named in the tag of an orphan, so that a run of that owner removes it.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, uid, entry key, listener ARN or '', target group ARN or ''.
-- Returns {'NOT_READY'} | {'OUTSIDE'} (no port of ours) | {'TAKEN'} (the port has an owner: not an orphan, or not ours to
--   judge) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/verified_under"
--- @include "lib/split_key"
--- @include "lib/use_of"
--- @include "lib/get_bit"
--- @include "lib/set_bit"
--- @include "lib/reindex"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
--- @include "lib/charge"
local server, name, uid, key, listener, target_group = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local lb, port = split_key(key)
local offset, used, capacity, bits = port - call('HGET', META, 'start'), use_of(lb)
local outside = offset < 0 or port + 0 > 65535 or call('HEXISTS', LBS, 'facts:' .. lb) == 0
if outside then return { 'OUTSIDE' } end
if get_bit(bits, offset) then return { 'TAKEN' } end
call('HSET', LBS, 'used:' .. lb, used + 1, 'taken:' .. lb, set_bit(bits, offset, true))
reindex(lb, used, capacity, used + 1, capacity)
local entries = entries_of(name)
entries[key] = {
  want = '', uid = uid, state = 'releasing', listener = listener, target_group = target_group, token = '',
}
save_entries(name, entries)
charge(name, 1)
return { 'OK' }
