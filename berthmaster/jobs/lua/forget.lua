-- Forgets a pool that is gone once nothing of it is left: no pod, and no job that waits, or that somebody may still ask for.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run.
-- Returns {'KEPT'} (there are pods or jobs, or a newer run: the pool was made anew) | {'OK'}.
local _, token = unpack(ARGV)
if newer_run(token) or call('HLEN', PODS) + call('HLEN', JOBS) > 0 then return { 'KEPT' } end
for _, class in ipairs(call('SMEMBERS', CLASSES)) do call('DEL', P .. 'free:' .. class) end
for _, kinds in ipairs(call('SMEMBERS', SIGS)) do call('DEL', P .. 'wait:' .. kinds) end
for _, json in ipairs(call('HVALS', FACTS)) do
  call('DEL', P .. 'owned:' .. tostring((json_of(json) or {}).lastOwner))
end
call('DEL', META, PODS, JOBS, KEYED, SIGS, CLASSES, DUE, LATER, SENT, ENDED, EXPECT, NAMES, RESULTS, CLAIMABLE, FACTS)
for _, name in ipairs({ 'decision', 'pace', 'unready', 'watched' }) do call('DEL', P .. name) end -- of the pool's runs
return { 'OK' }
