-- The ids of the jobs that are on a pod, by their own records, also while the record of the pod is lost. For the rare moments at
-- which that is not known otherwise: it reads the places of all jobs.
--- @include "lib/keys"
local function jobs_on(uid)
  local ids, places = {}, redis.call('HGETALL', ON_PODS)
  for at = 1, #places, 2 do
    if places[at + 1]:match('^%S+') == uid then ids[#ids + 1] = places[at] end
  end
  table.sort(ids)
  return ids
end
