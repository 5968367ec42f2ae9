-- A runner tells how an attempt ended. A further phase keeps the slot reserved until a person confirms, or the deadline.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, phase, attempt, outcome (succeeded, failed, cancelled), result.
-- Returns {'NOT_READY'} | {'REFUSED'} (not this attempt, or not running: take it as acknowledged) | {'OK', state, placed [JSON, ...]}.
local server, id, phase, attempt, outcome, result = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local j = job_of(id)
local mine = j and j.a == attempt and j.f[j.i] == phase and (j.s == 'running' or j.s == 'cancelling')
if not mine then return { 'REFUSED' } end
conclude(id, j, outcome, result)
place(server)
return { 'OK', j.s, placed }
