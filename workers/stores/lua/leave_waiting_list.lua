-- Takes a name that is gone, or asks for nothing here any more, off the lists; wakes the next that fit.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token.
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', woken names}.
--- @include "lib/keys"
--- @include "lib/refusal"
--- @include "lib/waiting_keys"
--- @include "lib/uncap"
--- @include "lib/stop_waiting"
--- @include "lib/add_uncapped"
local server, mark, name, token = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
uncap(name)
call('HDEL', WAITERS, name)
return { 'OK', add_uncapped(stop_waiting(name), name) }
