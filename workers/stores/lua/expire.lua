-- Takes retained entries whose time is over as releasing, so that a run of their name removes what the cloud has. When TIME went
-- back since the last time (META swept), all are looked at: none is retained for longer than its length.
-- KEYS[1] prefix of the pool.
-- ARGV server, most names to look at, ms after which a name that still releases something is told again.
-- Returns {'NOT_READY'} | {'OK', names}: those with something to release.
local server, most, again = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local now, found = math.floor(now_us() / 1000), {}
if tonumber(call('HGET', META, 'swept') or 0) > now then
  for _, name in ipairs(call('ZRANGE', RETAINED, 0, -1)) do call('ZADD', RETAINED, 'LT', now, name) end
end
call('HSET', META, 'swept', now)
for _, name in ipairs(call('ZRANGE', RETAINED, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  local held, going, next_time = entries(name), false, nil
  for _, e in pairs(held) do
    if e.z and e.r then e.z = math.min(e.z, now + e.r * 1000) end
    if e.s == 'retained' and e.z and e.z <= now then e.s, e.z = 'releasing', nil end
    if e.s == 'releasing' then going = true end
    if e.z then next_time = math.min(next_time or e.z, e.z) end
  end
  keep(name, held)
  if going then
    found[#found + 1], next_time = name, math.min(next_time or now + again, now + again)
  end
  if next_time then call('ZADD', RETAINED, next_time, name) else call('ZREM', RETAINED, name) end
end
return { 'OK', found }
