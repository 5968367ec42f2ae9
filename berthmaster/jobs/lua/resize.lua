-- Begins the scaling of a run: from now on older runs are refused. Then changes how many pods the pool shall have.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run, size ('' for the present one), fewest, most, pods that there are now (the size where none is known).
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', size, ms since it last went up or -1, ms since it last went down or -1}.
local server, token, asked, least, most, present = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local m = call('HMGET', META, 'size', 'up', 'down', 'run')
local latest = tonumber((m[4] or '0'):match('^%d+') or 0) -- a token is microseconds and a nonce
if m[4] ~= token and latest >= tonumber(token:match('^%d+')) then return { 'STALE' } end
call('HSET', META, 'run', token)
local size, now = tonumber(m[1]) or tonumber(present), now_ms()
m[2], m[3] = tonumber(m[2]), tonumber(m[3])
local wanted = math.max(tonumber(least), math.min(tonumber(most), tonumber(asked) or size))
if wanted > size then m[2] = now; call('HSET', META, 'up', now) end
if wanted < size then m[3] = now; call('HSET', META, 'down', now) end
call('HSET', META, 'size', wanted)
return { 'OK', wanted, m[2] and now - m[2] or -1, m[3] and now - m[3] or -1 }
