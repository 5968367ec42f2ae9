-- The pod of a job and its slot there. nil: the job has none, or its pod is not known.
--- @include "lib/pods"
local function slot_of_job(job)
  local pod = job.uid and load_pod(job.uid)
  if pod and pod.slots[job.slot] then return pod, pod.slots[job.slot] end
end
