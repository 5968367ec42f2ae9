-- Begins a verification after Redis was new, lost, replaced or copied: no pod is known, no unfinished job counts, until runners report.
-- Called twice: for the mark before pods are listed, then with the list. A list from before the latest loss does not show where jobs run.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark that the list was made under ('': there is no list yet), uids JSON [uid, ...] of all pods that Kubernetes has.
-- Returns {'READY', mark} (nothing to verify) | {'OK', mark}: reports made for another mark are dropped, and so are lists: {'NOT_READY'}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/noted_ms"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/transition"
--- @include "lib/apply"
local LEDGER_LOST = {} --- @table "ledger_lost"
local server, list_mark, uids = unpack(ARGV)
redis.call('PERSIST', RESULTS) -- of refusals before the pool had a ledger (refuse.lua), also if an earlier version began it
if is_verified(server) then return { 'READY', redis.call('HGET', META, 'mark') } end

local function forget_places() -- of NAMES an older copy may have some that were used
  for _, class in ipairs(redis.call('SMEMBERS', CLASSES)) do redis.call('DEL', PREFIX .. 'free:' .. class) end
  for _, kinds in ipairs(redis.call('SMEMBERS', SIGS)) do redis.call('DEL', PREFIX .. 'wait:' .. kinds) end
  for _, key in ipairs(redis.call('SMEMBERS', LINES)) do redis.call('DEL', PREFIX .. 'blocked:' .. key) end
  redis.call('DEL', PODS, KEYED, SIGS, LINES, CLASSES, DUE, LATER, SENT, EXPECT, NAMES, BESIDE, ON_PODS)
  redis.call('DEL', LIMITS, STOPPING, UNDECIDED)
  for _, id in ipairs(redis.call('HKEYS', JOBS)) do
    local job = load_job(id)
    if job then redis.call('DEL', PREFIX .. 'blocked:' .. job.serial_key) end
    local row = job and transition(job, LEDGER_LOST, {})
    if row then apply(id, job, row, {}) end
  end
end

if redis.call('HGET', META, 'seen') ~= server then
  forget_places()
  local time, old = redis.call('TIME'), tonumber(redis.call('HGET', META, 'mark') or 0)
  local mark = string.format('%.0f', math.max(old + 1, time[1] * 1000000 + time[2]))
  redis.call('HDEL', META, 'inc')
  redis.call('HSET', META, 'seen', server, 'mark', mark, 'asked', noted_ms())
end
if list_mark == '' then return { 'OK', redis.call('HGET', META, 'mark') } end
if list_mark ~= redis.call('HGET', META, 'mark') then return { 'NOT_READY' } end
redis.call('DEL', EXPECT)
for _, uid in ipairs(cjson.decode(uids)) do
  if not load_pod(uid) then redis.call('SADD', EXPECT, uid) end
end
if redis.call('SCARD', EXPECT) == 0 then redis.call('HSET', META, 'inc', server) end
return { 'OK', redis.call('HGET', META, 'mark') }
