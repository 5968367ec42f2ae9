-- Forgets a pool that is being deleted and holds nothing.
-- KEYS[1] prefix of the pool.
-- ARGV server.
-- Returns {'BUSY', owners} | {'OK'}.
--- @include "lib/keys"
--- @include "lib/verified_under"
--- @include "lib/delete_ledger"
local server = unpack(ARGV)
local owners = call('HLEN', OWNERS)
if verified_under(server) and owners > 0 then return { 'BUSY', owners } end
delete_ledger()
call('DEL', PREFIX .. 'notes', PREFIX .. 'orphans', PREFIX .. 'failures', PREFIX .. 'recheck')
return { 'OK' }
