-- The records of jobs. What cannot be read counts as none. It stays, because only its job's client or runner can say what it was;
-- until they do, its id is in UNREADABLE.
-- A job: state, phases [phase, ...], phase_number, attempt, uid and slot (where it is), serial_key or '', priority (0 first),
--   arrival (its number), hold_ms (of a reservation), when_lost (requeue, fail), plan (attempt that a person may confirm),
--   tries (times that it could not be sent), outcome, result, body (what the client sent), queue_ms and run_ms (time limits until
--   its first start and of each attempt, nil for none), limit (whose time was over: queue, run, reservation; nil for none).
--- @include "lib/keys"
--- @include "lib/decode_json"
--- @include "lib/job_codec"

local function load_job(id)
  local text = redis.call('HGET', JOBS, id)
  if not text then return nil end
  local stored = decode_json(text)
  local job = stored and decode_job(stored)
  if not job then redis.call('SADD', UNREADABLE, id) end
  return job
end

local function save_job(id, job) redis.call('HSET', JOBS, id, encode_job(job)) end
