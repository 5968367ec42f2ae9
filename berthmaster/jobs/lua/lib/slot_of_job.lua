-- The pod of a job and its slot there. nil: the job has none, its pod is not known, or another attempt has the slot.
--- @include "lib/pods"
local function slot_of_job(job)
  local pod = job.uid and load_pod(job.uid)
  local slot = pod and pod.slots[job.slot]
  if slot and slot.attempt == job.attempt then return pod, slot end
end
