-- Begins a rebuild: leaves a mark that a later loss of Redis removes, so that an old listing cannot be stamped after it.
-- It closes the ledger: who has not noticed that the server has changed would grant what the listing does not show.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of this rebuild.
-- Returns {'READY'} (there is nothing to rebuild) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/verified_under"
local server, mark = unpack(ARGV)
if verified_under(server) then return { 'READY' } end
call('HDEL', META, 'incarnation')
call('HSET', META, 'rebuild', server .. '/' .. mark) -- also a copy of Redis that comes back with the mark is another server
return { 'OK' }
