-- Takes a job in, once an id: said again, it answers with what has become of it. An unknown one of an older incarnation waits again.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, request JSON {phases, serial_key, priority, hold_ms (null: as the pool's spec says), when_lost, body, queue_ms and
--   run_ms (missing: as the pool's spec says)}, ms after which it may be placed (0: at once).
-- Returns {'NOT_READY'} | {'NO_SPEC'} (no run of the pool has recorded what its spec says)
--   | {'DOUBTFUL'} (its record is lost or cannot be read, and it may still run: its runner must report first)
--   | {'OK', job JSON, placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/jobs"
--- @include "lib/new_job"
--- @include "lib/jobs_in_slots"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/place"
local SUBMIT = {} --- @table "submit"
local server, id, json, wait = unpack(ARGV)
if redis.call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local request, existing = cjson.decode(json), load_job(id)
if request.hold_ms == cjson.null then request.hold_ms = tonumber(redis.call('HGET', META, 'hold_ms')) end
if not request.hold_ms then return { 'NO_SPEC' } end
for _, limit in ipairs({ 'queue_ms', 'run_ms' }) do
  request[limit] = request[limit] or tonumber(redis.call('HGET', META, limit))
end

local function may_run() -- a job that has no record
  if request.serial_key ~= '' and redis.call('HGET', KEYED, request.serial_key) == id then return true end
  if redis.call('HEXISTS', JOBS, id) == 0 then return false end
  local in_slots = jobs_in_slots()
  return not in_slots or in_slots[id] ~= nil
end

if not existing and may_run() then return { 'DOUBTFUL' } end
local facts = { delayed = tonumber(wait) > 0 }
local row = transition(existing or { state = 'unknown' }, SUBMIT, facts)
if row then
  apply(id, new_job(request, existing and existing.attempt or ''), row, { wait = tonumber(wait) })
  place(server)
end
return { 'OK', redis.call('HGET', JOBS, id), placed }
