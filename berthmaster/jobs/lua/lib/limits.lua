-- The time limits of jobs: LIMITS has the deadline of the limit that counts. Which limit counts in which state, and what begins its
-- time, comes from berthmaster/jobs/lifecycle.py.
--- @include "lib/keys"
--- @include "lib/noted_ms"
local COUNTED = {} --- @table "counted"

local function limit_ms(job) -- of the limit that counts in its state, nil: the job has none
  local limit = COUNTED[job.state]
  if limit == 'queue' then return job.queue_ms end
  if limit == 'run' then return job.run_ms end
end

local function begin_limit(id, job, passed_ms) -- of its time
  local length = limit_ms(job)
  if length then
    redis.call('ZADD', LIMITS, noted_ms() + length - passed_ms, id)
  else
    redis.call('ZREM', LIMITS, id)
  end
end
