-- Requests that the targets of a precreated port be compared with AWS by the next run that owns it.
-- KEYS[1] prefix of the pool.
-- ARGV server, `lb:port`.
-- Returns {'NOT_READY'} | {'OK'}.
--- @include "lib/verified_under"
--- @include "lib/compare_targets"
local server, key = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
compare_targets(key)
return { 'OK' }
