-- The record of a job that the ledger does not know yet. `request` has what the client asked for {phases, serial_key, priority,
-- hold_ms, when_lost, body, queue_ms and run_ms or nil}, `attempt` is the last one that is known of the job.
--- @include "lib/keys"
local function new_job(request, attempt)
  return {
    phases = request.phases, serial_key = request.serial_key, priority = request.priority, hold_ms = request.hold_ms,
    when_lost = request.when_lost, body = request.body, state = 'unknown', phase_number = 1, attempt = attempt,
    queue_ms = request.queue_ms, run_ms = request.run_ms, tries = 0,
    arrival = redis.call('HINCRBY', META, 'arrivals', 1),
  }
end
