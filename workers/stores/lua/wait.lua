-- Puts a name on the waiting list that found ports, but not those that it needs: one that asks for the same in several pools.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, ports that the pool should grow by (0: it is told of free ones only),
--   those by kind (`0,3,0`, or ''), times that ports had become free when it looked (see candidates.lua).
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (it looked too early: who joins now is not woken for those) | {'OK', epoch,
--   woken names} | {'QUOTA', ...} (see `allocate`).
local server, run, name, tok, ports, kinds, freed = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
if (call('HGET', META, 'freed') or '0') ~= freed then return { 'CHANGED' } end
local share, has = call('HGET', META, 'share'), (call('HGET', SPACES, space_of(name)) or 0) - (demand_of(name) or 0)
if share and ports + 0 > 0 and has + ports > share + 0 then
  return { 'QUOTA', share, string.format('%d', has), cap(name, tonumber(ports)) }
end
uncap(name)
return { 'OK', call('HGET', META, 'epoch'), admit(join(name, tonumber(ports), 1, numbers(kinds)), name) }
