-- A runner tells how an attempt ended. A further phase keeps the slot reserved until a person confirms, or the deadline.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, phase, attempt, outcome (succeeded, failed, cancelled), result.
-- Returns {'NOT_READY'} | {'REFUSED', state} (not this attempt, or not running: take it as acknowledged; unknown: there is
--   no record, so report it) | {'OK', state, placed [JSON, ...]}.
--- @include "lib/is_verified"
--- @include "lib/jobs"
--- @include "lib/messages"
--- @include "lib/end_attempt"
--- @include "lib/place"
local END = {} --- @table "end"
local server, id, phase, attempt, outcome, result = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local job = load_job(id)
if not job then return { 'REFUSED', 'unknown' } end
local facts = { same_attempt = job.attempt == attempt and job.phases[job.phase_number] == phase }
if not end_attempt(id, job, END, facts, { outcome = outcome, result = result }) then
  return { 'REFUSED', job.state }
end
place(server)
return { 'OK', job.state, placed }
