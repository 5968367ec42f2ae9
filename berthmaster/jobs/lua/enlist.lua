-- Writes down the names of pods that shall be created, before they are, and drops others; only for the run that has the pool.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run, names JSON [name, ...], names that were written down before and are never used JSON [name, ...].
-- Returns {'NOT_READY'} | {'STALE'} | {'OK'}.
local server, token, names, dropped = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
if call('HGET', META, 'run') ~= token then return { 'STALE' } end
for _, name in ipairs(cjson.decode(dropped)) do call('SREM', NAMES, name) end
for _, name in ipairs(cjson.decode(names)) do call('SADD', NAMES, name) end
return { 'OK' }
