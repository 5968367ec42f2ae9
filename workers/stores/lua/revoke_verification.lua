-- Takes back the stamp of a ledger that does not say what the world shows: nothing is granted before it is rebuilt.
-- KEYS[1] prefix of the pool.
-- ARGV server.
-- Returns {'NOT_READY'} | {'OK'}.
--- @include "lib/keys"
--- @include "lib/verified_under"
local server = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
call('HDEL', META, 'incarnation')
return { 'OK' }
