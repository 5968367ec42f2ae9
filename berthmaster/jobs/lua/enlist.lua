-- Writes down the names of pods that shall be created, before they are, and drops others; only for the run that has the pool.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run, names JSON [name, ...], names that were written down before and are never used JSON [name, ...].
-- Returns {'NOT_READY'} | {'STALE'} | {'OK'}.
--- @include "lib/keys"
--- @include "lib/is_verified"
local server, token, names, dropped = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
if redis.call('HGET', META, 'run') ~= token then return { 'STALE' } end
for _, name in ipairs(cjson.decode(dropped)) do redis.call('SREM', NAMES, name) end
for _, name in ipairs(cjson.decode(names)) do redis.call('SADD', NAMES, name) end
return { 'OK' }
