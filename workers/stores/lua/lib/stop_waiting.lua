-- Takes a name off the waiting list. Returns the names that may have the room which was kept for it. A waiter leaves by its own
-- allocation or end only.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
--- @include "lib/charge"
--- @include "lib/demand_of"
--- @include "lib/keep_kinds"
--- @include "lib/wake_waiters"
local function stop_waiting(name)
  local ports, _, picky, _, kinds = demand_of(name)
  if not ports then return {} end
  local woken = call('ZREM', WOKEN, name) == 1
  call('ZREM', WAITING, name)
  call('HDEL', DEMAND, name)
  call('HINCRBY', META, 'demand', -ports)
  call('HINCRBY', META, 'waiters', -1)
  charge(name, -ports)
  if not woken and picky > 0 then call('HINCRBY', META, 'stuck', -ports) end
  if not woken then return {} end
  call('HINCRBY', META, 'woken', -ports)
  keep_kinds(kinds, -1)
  return wake_waiters()
end
