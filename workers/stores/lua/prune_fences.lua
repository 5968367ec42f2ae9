-- Forgets the fences of names whose last run began long ago, one page of them; runs that began before then cannot open any more.
-- KEYS[1] prefix of the pool.
-- ARGV server, cursor, age in microseconds, about how many fences to look at.
-- Returns {'NOT_READY'} | {'OK', cursor of the next page ('0': this was the last), fences forgotten}.
local server, cursor, age, page = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local oldest, pruned = now_us() - age, 0
local found = call('HSCAN', FENCES, cursor, 'COUNT', page)
for i = 1, #found[2], 2 do
  if number_of(found[2][i + 1]) < oldest then
    call('HDEL', FENCES, found[2][i])
    pruned = pruned + 1
  end
end
call('HSET', META, 'floor', string.format('%.0f', math.max(oldest, tonumber(call('HGET', META, 'floor') or 0))))
return { 'OK', found[1], pruned }
