-- A person confirms the plan of an attempt: the next phase runs in the slot that was kept, at once or when its serial key is free.
-- Without a slot, or on a pod that terminates, the plan is made again elsewhere.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, attempt of the plan that the person has seen, name of the person (may be empty).
-- Returns {'NOT_READY'} | {'REFUSED', state} | {'OK', state, placed [JSON, ...]}. Said again it answers OK.
--- @include "lib/is_verified"
--- @include "lib/jobs"
--- @include "lib/has_lasting_slot"
--- @include "lib/transition"
--- @include "lib/lines"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/place"
--- @include "lib/record_decision"
local CONFIRM = {} --- @table "confirm"
local server, id, plan, person = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local job = load_job(id)
local facts = job and { has_slot = has_lasting_slot(job), succeeded = job.outcome == 'succeeded' }
local row = job and job.plan == plan and transition(job, CONFIRM, facts)
if not row then return { 'REFUSED', job and job.state or 'unknown' } end
if not row.state then return { 'OK', job.state, placed } end
job.confirmed_by = person ~= '' and person or nil
apply(id, job, row, {})
record_decision(id, 'confirmed', person, plan)
local next_row = facts.has_slot and transition(job, PLACE, facts)
if next_row and not wait_for_key(id, job) then apply(id, job, next_row, {}) end
place(server)
return { 'OK', load_job(id).state, placed }
