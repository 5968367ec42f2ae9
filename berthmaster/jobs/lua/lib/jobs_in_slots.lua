-- What the slots of all pods say: id of a job -> {state of its slot = true}. nil: the record of a pod cannot be read.
-- For repairs only: it reads all pods.
--- @include "lib/keys"
--- @include "lib/pods"
local function jobs_in_slots()
  local jobs = {}
  for _, text in ipairs(redis.call('HVALS', PODS)) do
    local pod = pod_of_text(text)
    if not pod then return nil end
    for _, slot in ipairs(pod.slots) do
      if slot then
        jobs[slot.job] = jobs[slot.job] or {}
        jobs[slot.job][slot.state] = true
      end
    end
  end
  return jobs
end
