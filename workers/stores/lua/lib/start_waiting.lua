-- Puts a name on the waiting list; one that waits already keeps its place. `kinds`: {ports of each kind}, or {}. Returns names as
-- stop_waiting does.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
--- @include "lib/charge"
--- @include "lib/demand_of"
--- @include "lib/now_ms"
--- @include "lib/stop_waiting"
local function start_waiting(name, ports, picky, kinds)
  local _, joined = demand_of(name)
  local names = stop_waiting(name) -- before it waits again: a waiter that has just failed is not woken for the same free ports
  local freed = call('HGET', META, 'freed') or 0
  joined = joined or math.max(now_ms(), (call('ZREVRANGE', WAITING, 0, 0, 'WITHSCORES')[2] or 0) + 1) -- last, whatever TIME says
  call('ZADD', WAITING, joined, name)
  call('HSET', DEMAND, name, string.format('%d:%.0f:%d:%s:%s', ports, joined, picky, freed, table.concat(kinds, ',')))
  call('HINCRBY', META, 'demand', ports)
  call('HINCRBY', META, 'waiters', 1)
  charge(name, ports)
  if picky > 0 then call('HINCRBY', META, 'stuck', ports) end
  return names
end
