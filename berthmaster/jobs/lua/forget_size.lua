-- Forgets what a pool that is gone was to become: its size, what its spec said, and the names of pods that were to be
-- created.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run.
-- Returns {'KEPT'} (a newer run has the pool: it was made anew) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/has_newer_run"
local _, token = unpack(ARGV)
if has_newer_run(token) then return { 'KEPT' } end
redis.call('HSET', META, 'run', token) -- from now on older ones are refused
redis.call('HDEL', META, 'size', 'up', 'down', 'hold_ms', 'queue_ms', 'run_ms')
redis.call('DEL', NAMES)
return { 'OK' }
