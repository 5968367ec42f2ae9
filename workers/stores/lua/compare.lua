-- Wishes that the targets of a precreated port be compared with AWS by the next run that owns it.
-- KEYS[1] prefix of the pool.
-- ARGV server, `lb:port`.
-- Returns {'NOT_READY'} | {'OK'}.
local server, key = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
wish(key)
return { 'OK' }
