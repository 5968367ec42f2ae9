-- Forgets the listener of an entry that AWS does not have any more, so that the owner's run makes it again.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, entry key, listener ARN that is missing.
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
--- @include "lib/verified_under"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
local server, name, key, listener = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local entries = entries_of(name)
local entry = entries[key]
if not entry or entry.state == 'releasing' or entry.listener ~= listener then return { 'CHANGED' } end
entry.listener, entry.target = '', ''
save_entries(name, entries)
return { 'OK' }
