-- Sweeps the waiting list: woken waiters without progress wait again, those that fit are woken. Who was woken in the future was
-- woken before TIME went back.
-- KEYS[1] prefix of the pool.
-- ARGV server, milliseconds after which a woken waiter counts as forgotten.
-- Returns {'NOT_READY'} | {'OK', epoch, ports short, 1 if an intent is open, woken names}.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
--- @include "lib/verified_under"
--- @include "lib/now_ms"
--- @include "lib/demand_of"
--- @include "lib/keep_kinds"
--- @include "lib/wake_waiters"
--- @include "lib/add_uncapped"
--- @include "lib/ports_short"
local server, forgotten_after = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local now, forgotten = now_ms(), {}
for _, range in ipairs({ { '-inf', now - forgotten_after }, { '(' .. now, '+inf' } }) do
  local names = call('ZRANGEBYSCORE', WOKEN, range[1], range[2], 'LIMIT', 0, 1000)
  for _, name in ipairs(names) do forgotten[#forgotten + 1] = name end
end
for _, name in ipairs(forgotten) do
  local ports, joined, picky, _, kinds = demand_of(name)
  call('ZREM', WOKEN, name)
  call('ZADD', WAITING, joined, name)
  call('HINCRBY', META, 'woken', -ports)
  call('HINCRBY', META, 'stuck', ports * picky)
  keep_kinds(kinds, -1)
end
local woken = add_uncapped(wake_waiters())
local meta = call('HMGET', META, 'epoch', 'intent')
return { 'OK', meta[1] or '0', (ports_short()), meta[2] and 1 or 0, woken }
