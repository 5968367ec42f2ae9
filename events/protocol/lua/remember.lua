-- Remembers a claim and the pods that it names. Changes of pods that it named before do not wake it any more.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV server, name of the claim, its UID, names of the pods JSON [name, ...], token of the run.
-- Returns {missing, waiting, 'UNKNOWN'} (Redis was new since: list the pods that it may have tried)
-- | {missing, waiting, 'OK', name of a tried pod, ...}. missing, waiting: 1 if something is stored of the claim there, else 0.
--- @include "lib/keys"
--- @include "lib/record_of"
--- @include "lib/save_record"
--- @include "lib/detach_pods"
local server, name, uid, named, run = unpack(ARGV)
local pods = cjson.decode(named)
local before = record_of(name)
if before then
  detach_pods(name, before)
  if before.uid ~= uid then
    redis.call('HDEL', UIDS, before.uid)
    redis.call('DEL', TRIED .. before.uid)
  end
end
for _, pod in ipairs(pods) do redis.call('SADD', NAMERS .. pod, name) end
redis.call('HSET', UIDS, uid, name)
local same_run = before and before.uid == uid and before.run == run
save_record(name, { uid = uid, run = run, write = same_run and before.write or nil, pods = pods })
local tried = TRIED .. uid
local missing, waiting = redis.call('HEXISTS', MISSING, uid), redis.call('HEXISTS', WAITING, name)
if redis.call('HGET', tried, '') ~= server then return { missing, waiting, 'UNKNOWN' } end
local reply = { missing, waiting, 'OK' }
for _, pod in ipairs(redis.call('HKEYS', tried)) do
  if pod ~= '' then reply[#reply + 1] = pod end
end
return reply
