-- Marks an entry releasing, with the listener that will be deleted by its ARN. Never taken back; said again on each retry.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, listener ARN or '', target group ARN or ''.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK'}.
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
local server, mark, name, token, uid, key, listener, target_group = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries = entries_of(name)
local entry = entries[key]
if not entry or entry.uid ~= uid then return { 'CHANGED' } end
entry.state, entry.listener, entry.target_group = 'releasing', listener, target_group
save_entries(name, entries)
return { 'OK' }
