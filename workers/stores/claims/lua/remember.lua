-- Remembers a claim and the pods that it names; the ones that it named before do not concern it any more.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV name of the claim, its UID, names of the pods JSON [name, ...].
-- Returns {'OK'}.
--- @include "lib/keys"
--- @include "lib/record_of"
--- @include "lib/detach_pods"
local name, uid, pods = unpack(ARGV)
local before = record_of(name)
if before then
  detach_pods(name, before)
  if before.uid ~= uid then
    redis.call('HDEL', UIDS, before.uid)
    redis.call('DEL', TRIED .. before.uid)
  end
end
for _, pod in ipairs(cjson.decode(pods)) do redis.call('SADD', NAMERS .. pod, name) end
redis.call('HSET', UIDS, uid, name)
-- Joined, not encoded: cjson would write an empty list as an object.
redis.call('HSET', RECORDS, name, '{"uid":' .. cjson.encode(uid) .. ',"pods":' .. pods .. '}')
return { 'OK' }
