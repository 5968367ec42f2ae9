-- Remembers that a claim is about to take a pod: a change of the pod wakes it from now on, and other claims may have it.
-- The event of the run's own write is expected, if the run is the claim's latest one (rule expected).
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV name of the claim, its UID, name of the pod, token of the run.
-- Returns {'OK'}.
--- @include "lib/keys"
--- @include "lib/record_of"
--- @include "lib/save_record"
local name, uid, pod, run = unpack(ARGV)
local record = record_of(name)
if record and record.uid == uid then
  if redis.call('SADD', NAMERS .. pod, '~' .. name) == 1 then record.pods[#record.pods + 1] = pod end
  if record.run == run then record.write = { pod = pod } end
  save_record(name, record)
end
redis.call('HSET', TRIED .. uid, pod, 1)
return { 'OK' }
