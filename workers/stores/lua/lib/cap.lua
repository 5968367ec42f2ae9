-- Puts a name that wants so many ports on the list of those whose namespace has its share, and takes it off the waiting list.
-- Returns names as stop_waiting and add_uncapped do.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
--- @include "lib/add_uncapped"
--- @include "lib/namespace_of"
--- @include "lib/now_ms"
--- @include "lib/stop_waiting"
--- @include "lib/uncap"
local function cap(name, ports)
  local names, joined = stop_waiting(name), uncap(name) or string.format('%016.0f', now_ms())
  add_uncapped(names, name)
  local member = namespace_of(name) .. '/' .. joined .. '/' .. ports .. '/' .. name
  call('ZADD', CAPPED, 0, member)
  call('HSET', CAP, name, member)
  call('HINCRBY', META, 'capped', 1)
  return names
end
