-- The messages of placed jobs, which the caller must send.
-- JSON {id, attempt, uid, pod, phase, tries, job {phases, serial_key, priority, hold_ms, when_lost, body, queue_ms, run_ms}}
local placed = {}

local function add_message(id, job, pod)
  local request = {
    phases = job.phases, serial_key = job.serial_key, priority = job.priority, hold_ms = job.hold_ms,
    when_lost = job.when_lost, body = job.body, queue_ms = job.queue_ms, run_ms = job.run_ms,
  }
  placed[#placed + 1] = cjson.encode({
    id = id, attempt = job.attempt, uid = job.uid, pod = pod.name, phase = job.phases[job.phase_number],
    tries = job.tries, job = request,
  })
end
