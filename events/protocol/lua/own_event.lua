-- Tells whether the event of a pod is that of its claim's own write, which the claim's latest run knows (rule expected):
-- the first event with that run's token while it has not ended, and the version that it wrote once it has.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV name of the pod, its version, UID of the claim in its label, token of the run that wrote it last.
-- Returns {'OWN', name of the claim} | {'NEWS'}.
--- @include "lib/keys"
--- @include "lib/record_of"
--- @include "lib/save_record"
local pod, version, uid, run = unpack(ARGV)
local name = redis.call('HGET', UIDS, uid)
local record = name and record_of(name)
if not record or record.uid ~= uid or record.run ~= run then return { 'NEWS' } end
local write = record.write
if not write or write.pod ~= pod then return { 'NEWS' } end
if not write.version then
  record.write = { pod = pod, version = version, taken = true }
elseif write.version == version and not write.taken then
  record.write = nil
else
  return { 'NEWS' }
end
save_record(name, record)
return { 'OWN', name }
