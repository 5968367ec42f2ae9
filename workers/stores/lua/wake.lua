-- The sweep's look at a pool: woken waiters without progress wait again, those that fit are woken.
-- KEYS[1] prefix of the pool.
-- ARGV server, milliseconds after which a woken waiter counts as forgotten.
-- Returns {'NOT_READY'} | {'OK', epoch, ports short, 1 if an intent is open, woken names}.
local server, forgotten = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
for _, name in ipairs(call('ZRANGEBYSCORE', WOKEN, '-inf', now_ms() - forgotten, 'LIMIT', 0, 1000)) do
  local ports, joined, picky, _, kinds = demand_of(name)
  call('ZREM', WOKEN, name); call('ZADD', WAITING, joined, name)
  call('HINCRBY', META, 'woken', -ports); call('HINCRBY', META, 'stuck', ports * picky)
  keep_kinds(kinds, -1)
end
local names = admit(wake())
local m = call('HMGET', META, 'epoch', 'intent')
return { 'OK', m[1] or '0', (short()), m[2] and 1 or 0, names }
