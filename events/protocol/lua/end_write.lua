-- Compares what was taken for the event of a run's own write of a pod with what the write made. If no event was taken for
-- it yet, exactly that version is expected from now on. Nothing else that comes is taken for it. The claim names the pod.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV name of the claim, its UID, token of the run, name of the pod that it has written and bound last ('' for none), the
-- version that its write made.
-- Returns {'NEWS'} (another version was taken for it, so the claim must be reconciled again) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/record_of"
--- @include "lib/save_record"
local name, uid, run, pod, version = unpack(ARGV)
local record = record_of(name)
if not record or record.uid ~= uid or record.run ~= run then return { 'OK' } end
if pod ~= '' and redis.call('SREM', NAMERS .. pod, '~' .. name) == 1 then redis.call('SADD', NAMERS .. pod, name) end
local write = record.write
if not write then return { 'OK' } end
local same = write.pod == pod and (not write.taken or write.version == version)
record.write = same and not write.taken and { pod = pod, version = version } or nil
save_record(name, record)
return { write.taken and not same and 'NEWS' or 'OK' }
