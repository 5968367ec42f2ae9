-- Takes retained entries whose time is over as releasing, so that a run of their name removes what the cloud has. When TIME went
-- back since it was noted (META swept), all are looked at: none is retained for longer than its length, and no load balancer is
-- empty since later than now.
-- KEYS[1] prefix of the pool.
-- ARGV server, most names to look at, ms after which a name that still releases something is told again.
-- Returns {'NOT_READY'} | {'OK', names}: those with something to release.
--- @include "lib/keys"
--- @include "lib/pool_keys"
--- @include "lib/verified_under"
--- @include "lib/now_ms"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
local server, limit, again_after = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local now, names = now_ms(), {}
local function look_at_all() -- TIME went back
  for _, name in ipairs(call('ZRANGE', RETAINED, 0, -1)) do call('ZADD', RETAINED, 'LT', now, name) end
  local fields = call('HGETALL', LBS)
  for i = 1, #fields, 2 do
    if fields[i]:sub(1, 6) == 'empty:' and fields[i + 1] + 0 > now then call('HSET', LBS, fields[i], now) end
  end
end

if tonumber(call('HGET', META, 'swept') or 0) > now then look_at_all() end
call('HSET', META, 'swept', now)
for _, name in ipairs(call('ZRANGE', RETAINED, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
  local entries, releases, next_time = entries_of(name), false, nil
  for _, entry in pairs(entries) do
    if entry.expires_at and entry.retain then
      entry.expires_at = math.min(entry.expires_at, now + entry.retain * 1000)
    end
    if entry.state == 'retained' and entry.expires_at and entry.expires_at <= now then
      entry.state, entry.expires_at = 'releasing', nil
    end
    if entry.state == 'releasing' then releases = true end
    if entry.expires_at then next_time = math.min(next_time or entry.expires_at, entry.expires_at) end
  end
  save_entries(name, entries)
  if releases then
    names[#names + 1], next_time = name, math.min(next_time or now + again_after, now + again_after)
  end
  if next_time then call('ZADD', RETAINED, next_time, name) else call('ZREM', RETAINED, name) end
end
return { 'OK', names }
