-- The runner or the pod of a job has it no more. `rows`: those of the event that says so.
--- @include "lib/transition"
--- @include "lib/apply"
local function lose_job(id, job, rows)
  local facts = { first_phase = job.phase_number == 1, repeatable = job.when_lost ~= 'fail' }
  facts.over_time = job.limit ~= nil
  local row = transition(job, rows, facts)
  if row then apply(id, job, row, {}) end
end
