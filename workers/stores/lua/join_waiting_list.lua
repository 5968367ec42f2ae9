-- Puts a name on the waiting list that found ports, but not those that it needs: one that asks for the same in several pools.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, ports that the pool should grow by (0: it is told of free ones only),
--   those by kind (`0,3,0`, or ''), times that ports had become free when it looked (see list_candidates.lua), UID.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (it looked too early: who joins now is not woken for those) | {'OK', epoch,
--   woken names, entry of its failure, load balancers of ours} | {'QUOTA', ...} (see `allocate`).
--- @include "lib/keys"
--- @include "lib/pool_keys"
--- @include "lib/refusal"
--- @include "lib/namespace_of"
--- @include "lib/demand_of"
--- @include "lib/numbers"
--- @include "lib/cap"
--- @include "lib/uncap"
--- @include "lib/start_waiting"
--- @include "lib/begin_wait"
--- @include "lib/add_uncapped"
local server, mark, name, token, wanted, kinds, freed_at_look, uid = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
if (call('HGET', META, 'freed') or '0') ~= freed_at_look then return { 'CHANGED' } end
local ports, share = tonumber(wanted), call('HGET', META, 'share')
local held = (call('HGET', NAMESPACES, namespace_of(name)) or 0) - (demand_of(name) or 0)
if share and ports > 0 and held + ports > share + 0 then
  return { 'QUOTA', share, string.format('%d', held), cap(name, ports), begin_wait(name, uid, ports, 'NamespaceShare') }
end
uncap(name)
local woken = add_uncapped(start_waiting(name, ports, 1, numbers(kinds)), name)
return { 'OK', call('HGET', META, 'epoch'), woken, begin_wait(name, uid, ports, 'NoCommonPort'), call('HLEN', SLOTS) }
