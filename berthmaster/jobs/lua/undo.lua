-- A placed attempt could not be sent: a first phase waits again after a while, a later one keeps its reserved slot and is sent again.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, attempt, ms to wait.
-- Returns {'NOT_READY'} | {'REFUSED'} | {'OK', times that it could not be sent, placed [JSON, ...]}.
--- @include "lib/is_verified"
--- @include "lib/jobs"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/place"
local UNSENT = {} --- @table "unsent"
local server, id, attempt, wait = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local job = load_job(id)
local facts = job and { same_attempt = job.attempt == attempt, first_phase = job.phase_number == 1 }
local row = job and transition(job, UNSENT, facts)
if not row then return { 'REFUSED' } end
job.tries = job.tries + 1
apply(id, job, row, { wait = tonumber(wait) })
place(server)
return { 'OK', job.tries, placed }
