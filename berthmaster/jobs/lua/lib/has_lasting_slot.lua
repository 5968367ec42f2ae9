-- Whether a job has a slot that the next attempt may have: on a pod that terminates none starts.
--- @include "lib/slot_of_job"
local function has_lasting_slot(job)
  local pod = slot_of_job(job)
  return pod ~= nil and pod.view ~= 'ending'
end
