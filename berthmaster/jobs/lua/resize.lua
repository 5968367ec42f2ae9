-- Begins the scaling of a run: from now on older runs are refused. Then changes how many pods the pool shall have, and records
-- what submissions need of its spec.
-- KEYS[1] prefix of the pool.
-- ARGV server, token of the run, size ('' for the present one), fewest, most, pods that there are now (the size where none is known),
--   hold_ms of a reservation by the spec ('': all limits as recorded), queue_ms and run_ms of jobs by the spec ('': no limit).
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', size, ms since it last went up or -1, ms since it last went down or -1}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/noted_ms"
local server, token, asked, least, most, present, hold_ms, queue_ms, run_ms = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local stored_size, up, down, run = unpack(redis.call('HMGET', META, 'size', 'up', 'down', 'run'))
local latest = tonumber((run or '0'):match('^%d+') or 0) -- a token is microseconds and a nonce
if run ~= token and latest >= tonumber(token:match('^%d+')) then return { 'STALE' } end
redis.call('HSET', META, 'run', token)
if hold_ms ~= '' then
  for limit, length in pairs({ hold_ms = hold_ms, queue_ms = queue_ms, run_ms = run_ms }) do
    if length == '' then redis.call('HDEL', META, limit) else redis.call('HSET', META, limit, length) end
  end
end
local size, now = tonumber(stored_size) or tonumber(present), noted_ms()
up, down = tonumber(up), tonumber(down)
local target = math.max(tonumber(least), math.min(tonumber(most), tonumber(asked) or size))
if target > size then up = now; redis.call('HSET', META, 'up', now) end
if target < size then down = now; redis.call('HSET', META, 'down', now) end
redis.call('HSET', META, 'size', target)
return { 'OK', target, up and now - up or -1, down and now - down or -1 }
