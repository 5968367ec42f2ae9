-- The sweep's look at a pool: woken waiters without progress wait again, those that fit are woken. Who was woken in the future was
-- woken before TIME went back.
-- KEYS[1] prefix of the pool.
-- ARGV server, milliseconds after which a woken waiter counts as forgotten.
-- Returns {'NOT_READY'} | {'OK', epoch, ports short, 1 if an intent is open, woken names}.
local server, forgotten = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local now, late = now_ms(), {}
for _, range in ipairs({ { '-inf', now - forgotten }, { '(' .. now, '+inf' } }) do
  local names = call('ZRANGEBYSCORE', WOKEN, range[1], range[2], 'LIMIT', 0, 1000)
  for _, name in ipairs(names) do late[#late + 1] = name end
end
for _, name in ipairs(late) do
  local ports, joined, picky, _, kinds = demand_of(name)
  call('ZREM', WOKEN, name); call('ZADD', WAITING, joined, name)
  call('HINCRBY', META, 'woken', -ports); call('HINCRBY', META, 'stuck', ports * picky)
  keep_kinds(kinds, -1)
end
local names = admit(wake())
local m = call('HMGET', META, 'epoch', 'intent')
return { 'OK', m[1] or '0', (short()), m[2] and 1 or 0, names }
