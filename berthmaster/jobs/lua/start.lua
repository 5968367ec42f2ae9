-- A runner asks to start an attempt: granted once. Said again, it is refused: a start whose answer is lost is found by its absence.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, phase, attempt, uid of the pod.
-- Returns {'NOT_READY'} | {'REFUSED'} | {'OK', number of the slot, attempt of its plan or ''}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/jobs"
--- @include "lib/save_pod"
--- @include "lib/slot_of_job"
--- @include "lib/transition"
--- @include "lib/apply"
local START = {} --- @table "start"
local server, id, phase, attempt, uid = unpack(ARGV)
if not is_verified(server) then return { 'NOT_READY' } end
local job = load_job(id)
if not (job and job.uid == uid) then return { 'REFUSED' } end
local pod, slot = slot_of_job(job)
local same_attempt = job.attempt == attempt and job.phases[job.phase_number] == phase
local row = transition(job, START, { same_attempt = same_attempt, has_slot = slot ~= nil })
if not row then return { 'REFUSED' } end
apply(id, job, row, {})
slot.grant = redis.call('HINCRBY', META, 'grants', 1)
save_pod(uid, pod)
return { 'OK', job.slot, job.plan or '' }
