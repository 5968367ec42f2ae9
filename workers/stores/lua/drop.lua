-- Forgets a pool that is being deleted and holds nothing.
-- KEYS[1] prefix of the pool.
-- ARGV server.
-- Returns {'BUSY', owners} | {'OK'}.
local server = ARGV[1]
if ready(server) and call('HLEN', OWNERS) > 0 then return { 'BUSY', call('HLEN', OWNERS) } end
call('DEL', META, FENCES, OWNERS, LBS, SLOTS, ORDER, ROOM, WAITING, WOKEN, DEMAND, SPACES, CAPPED, CAP)
call('DEL', STOCK, COMING, COMPARE, RETAINED)
call('DEL', P .. 'notes', P .. 'orphans', P .. 'failures', P .. 'recheck')
return { 'OK' }
