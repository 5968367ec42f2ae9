-- Cancels a job. What has started keeps slot and key until its runner says that it stopped.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, name of who cancels it (may be empty).
-- Returns {'NOT_READY'} | {'REFUSED'} (no such job) | {'OK', state, placed [JSON, ...]}.
--- @include "lib/is_verified"
--- @include "lib/jobs"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/place"
--- @include "lib/record_decision"
local CANCEL = {} --- @table "cancel"
local server, id, person = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local job = load_job(id)
local row = job and transition(job, CANCEL, {})
if not row then return { 'REFUSED' } end
apply(id, job, row, {})
if row.state then
  record_decision(id, 'cancelled', person)
  place(server)
end
return { 'OK', job.state, placed }
