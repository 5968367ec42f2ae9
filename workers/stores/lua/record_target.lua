-- Records what is registered for a precreated port, after the calls; ends the request to compare that they have served.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, address (ip:port or ''), state, request served or ''.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK', 1 if a comparison is still requested}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
local server, mark, name, token, uid, key, address, state, served = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries = entries_of(name)
local entry = entries[key]
if not entry or entry.uid ~= uid or entry.state == 'releasing' then return { 'CHANGED' } end
entry.target, entry.state, entry.tried = address, state, nil
save_entries(name, entries)
if served ~= '' and call('HGET', COMPARE, key) == served then call('HDEL', COMPARE, key) end
return { 'OK', call('HEXISTS', COMPARE, key) }
