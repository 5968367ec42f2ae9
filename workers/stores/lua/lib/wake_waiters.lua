-- Wakes the waiters that fit the ports which are free now: moves them to WOKEN. Returns their names, first come first.
-- Picky waiters have failed whatever the number of free ports: those are no supply for them (META stuck), and they are not woken
-- before ports have become free since (META freed). Two of them would wake each other for ever.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
--- @include "lib/free_kinds"
--- @include "lib/keep_kinds"
--- @include "lib/now_ms"
--- @include "lib/numbers"
local function take_kinds(kinds, free) -- takes ports of these kinds off the free ones, if they are there
  local wanted = free and numbers(kinds) or {}
  for kind, ports in ipairs(wanted) do if ports > free[kind] then return false end end
  for kind, ports in ipairs(wanted) do free[kind] = free[kind] - ports end
  return true
end

local function wake_waiters()
  local meta = call('HMGET', META, 'free', 'woken', 'state', 'freed')
  local room, active, freed = tonumber(meta[1] or 0) - tonumber(meta[2] or 0), meta[3] == 'Active', meta[4] or '0'
  local names, from, left, unstuck = {}, 0, room, 0
  local free = left > 0 and active and free_kinds()
  while left > 0 and active do
    local page = call('ZRANGE', WAITING, from, from + 99)
    if #page == 0 then break end
    for i, demand in ipairs(call('HMGET', DEMAND, unpack(page))) do
      local ports, picky, freed_at_join, kinds = demand:match('^(%d+):%d+:([01]):(%d+):(.*)$')
      local in_vain = picky == '1' and freed_at_join == freed
      if ports + 0 <= left and not in_vain and take_kinds(kinds, free) then
        names[#names + 1], left, unstuck = page[i], left - ports, unstuck + ports * picky
        keep_kinds(kinds, 1)
      end
    end
    from = from + 100
  end
  if left < room then
    call('HINCRBY', META, 'woken', room - left)
    call('HINCRBY', META, 'stuck', -unstuck)
  end
  local now = now_ms()
  for _, name in ipairs(names) do
    call('ZREM', WAITING, name)
    call('ZADD', WOKEN, now, name)
  end
  return names
end
