-- Forgets a pool that is gone once nothing of it is left: no pod, and no job that waits, or that somebody may still ask for.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run.
-- Returns {'KEPT'} (there are pods or jobs, or a newer run: the pool was made anew) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/has_newer_run"
--- @include "lib/decode_json"
--- @include "lib/logs"
local _, token = unpack(ARGV)
if has_newer_run(token) or redis.call('HLEN', PODS) + redis.call('HLEN', JOBS) > 0 then return { 'KEPT' } end
for _, class in ipairs(redis.call('SMEMBERS', CLASSES)) do redis.call('DEL', PREFIX .. 'free:' .. class) end
for _, kinds in ipairs(redis.call('SMEMBERS', SIGS)) do redis.call('DEL', PREFIX .. 'wait:' .. kinds) end
for _, facts in ipairs(redis.call('HVALS', FACTS)) do
  redis.call('DEL', PREFIX .. 'owned:' .. tostring((decode_json(facts) or {}).lastOwner))
end
for _, key in ipairs(redis.call('SMEMBERS', LINES)) do redis.call('DEL', PREFIX .. 'blocked:' .. key) end
for _, id in ipairs(redis.call('HKEYS', LOGS)) do forget_logs(id) end
redis.call('DEL', META, PODS, JOBS, KEYED, SIGS, LINES, UNREADABLE, CLASSES, DUE, LATER, SENT, ENDED, LIMITS, STOPPING)
redis.call('DEL', EXPECT, NAMES, BESIDE, ON_PODS, RESULTS, OUTBOX, UNDECIDED, CLAIMABLE, FACTS, LOGS, LOGGED)
-- Of the pool's runs:
for _, name in ipairs({ 'decision', 'sizes', 'pace', 'unready', 'watched', 'resting', 'budget' }) do
  redis.call('DEL', PREFIX .. name)
end
return { 'OK' }
