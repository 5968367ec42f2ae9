-- An attempt of a job has ended, with an outcome and a result. Returns whether the state of the job accepts that.
--- @include "lib/slot_of_job"
--- @include "lib/transition"
--- @include "lib/apply"
local function end_attempt(id, job, rows, facts, event)
  facts.succeeded = event.outcome == 'succeeded'
  facts.more_phases = job.phases[(event.phase_number or job.phase_number) + 1] ~= nil
  facts.has_slot = slot_of_job(job) ~= nil
  facts.over_time = job.limit ~= nil
  local row = transition(job, rows, facts)
  if row then apply(id, job, row, event) end
  return row ~= nil
end
