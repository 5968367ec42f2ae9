-- Keeps an entry for the next pod of its owner's name, until a time: its pod is gone, and nothing is registered any more.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, listener ARN or '', target group ARN or ''.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (not this uid's, releasing, or never bound) | {'OK', ms at which it is over}.
--- @include "lib/keys"
--- @include "lib/pool_keys"
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
--- @include "lib/noted_ms"
local server, mark, name, token, uid, key, listener, target_group = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries = entries_of(name)
local entry = entries[key]
local retainable = entry and (entry.state == 'bound' or entry.state == 'retained')
if not retainable or entry.uid ~= uid then return { 'CHANGED' } end
entry.state, entry.listener, entry.target_group = 'retained', listener, target_group
entry.target, entry.tried = '', nil
entry.expires_at = entry.expires_at or noted_ms() + (entry.retain or 0) * 1000
save_entries(name, entries)
call('ZADD', RETAINED, 'LT', entry.expires_at, name)
return { 'OK', string.format('%.0f', entry.expires_at) }
