-- Quarantines a pod, whatever runs on it: away until it is opened again, or ending for good. It gets no new jobs. From a pod that
-- ends, what was placed there and has not started moves: a start needs a grant, which is refused from now on.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid, view (away, ending).
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK', placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/noted_ms"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/place"
local POD_ENDS = {} --- @table "pod_ends"
local server, uid, view = unpack(ARGV)
if redis.call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local pod = load_pod(uid)
if not pod or pod.view == 'ending' or (view == 'away' and pod.view ~= 'open') then return { 'CHANGED' } end
pod.view, pod.token, pod.closed_at = view, '', noted_ms()
save_pod(uid, pod)
if view == 'away' then return { 'OK', placed } end
for _, slot in ipairs(pod.slots) do
  local job = slot and load_job(slot.job)
  local is_here = job and job.attempt == slot.attempt and job.uid == uid
  local row = is_here and transition(job, POD_ENDS, {})
  if row then apply(slot.job, job, row, {}) end
end
place(server)
return { 'OK', placed }
