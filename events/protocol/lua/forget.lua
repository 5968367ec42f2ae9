-- Forgets a claim that is gone. A newer claim of the same name stays.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV name of the claim, its UID ('': there is no claim of this name, so forget whatever has it).
-- Returns {'OK'}.
--- @include "lib/keys"
--- @include "lib/record_of"
--- @include "lib/detach_pods"
local name, uid = unpack(ARGV)
local record = record_of(name)
if record and (uid == '' or record.uid == uid) then
  detach_pods(name, record)
  redis.call('HDEL', RECORDS, name)
end
local waiting = redis.call('HGET', WAITING, name)
if waiting and (uid == '' or cjson.decode(waiting).uid == uid) then redis.call('HDEL', WAITING, name) end
if record and uid == '' then uid = record.uid end
if uid ~= '' then
  redis.call('HDEL', UIDS, uid)
  redis.call('HDEL', MISSING, uid)
  redis.call('DEL', TRIED .. uid)
end
return { 'OK' }
