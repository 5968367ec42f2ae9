-- How many slots of a pod have a job.
local function busy_slots(pod)
  local count = 0
  for _, slot in ipairs(pod.slots) do if slot then count = count + 1 end end
  return count
end
