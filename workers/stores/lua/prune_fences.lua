-- Forgets the fences of names whose last run began long ago, one page of them; runs that began before then cannot open any more.
-- Forgets none before the ledger is configured, which sets the first floor (rule newest).
-- KEYS[1] prefix of the pool.
-- ARGV server, number of the queue's newest token, cursor, age in microseconds, about how many fences to look at.
-- Returns {'NOT_READY'} | {'OK', cursor of the next page ('0': this was the last), fences forgotten}.
--- @include "lib/keys"
--- @include "lib/verified_under"
--- @include "lib/token_time"
local server, newest, cursor, age, page = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
if call('HEXISTS', META, 'config') == 0 then return { 'OK', '0', 0 } end
local oldest, pruned = newest + 1 - age, 0 -- by the number of a token, not by TIME (rule newest)
local reply = call('HSCAN', FENCES, cursor, 'COUNT', page)
local next_cursor, fences = reply[1], reply[2]
for i = 1, #fences, 2 do
  local name, token = fences[i], fences[i + 1]
  if token_time(token) < oldest then
    call('HDEL', FENCES, name)
    pruned = pruned + 1
  end
end
call('HSET', META, 'floor', string.format('%.0f', math.max(oldest, tonumber(call('HGET', META, 'floor') or 0))))
return { 'OK', next_cursor, pruned }
