-- A stored job has letters for the names of its fields, which saves memory; scripts have words. This is the one place in Lua
-- that knows both, as berthmaster/jobs/records.py is in Python. What is no job of ours becomes nil.
--- @include "lib/value_types"

local function decode_job(stored)
  local job = {
    state = stored.s, phases = stored.f, phase_number = stored.i, attempt = stored.a, uid = stored.u, slot = stored.x,
    serial_key = stored.k, priority = stored.r, arrival = stored.q, hold_ms = stored.h, when_lost = stored.y,
    plan = stored.l, tries = stored.t, outcome = stored.o, result = stored.z, body = stored.b,
    queue_ms = stored.w, run_ms = stored.g, limit = stored.e, confirmed_by = stored.c,
  }
  local complete = is_text(job.state) and is_text(job.attempt) and is_text(job.serial_key) and is_text(job.when_lost)
    and is_text(job.body) and is_number(job.phase_number) and is_number(job.priority) and is_number(job.arrival)
    and is_number(job.hold_ms) and is_number(job.tries) and are_texts(job.phases) and job.phases[job.phase_number]
  local optional = (job.uid == nil or is_text(job.uid)) and (job.slot == nil or is_number(job.slot))
    and (job.plan == nil or is_text(job.plan)) and (job.outcome == nil or is_text(job.outcome))
    and (job.result == nil or is_text(job.result)) and (job.queue_ms == nil or is_number(job.queue_ms))
    and (job.run_ms == nil or is_number(job.run_ms)) and (job.limit == nil or is_text(job.limit))
    and (job.confirmed_by == nil or is_text(job.confirmed_by))
  return complete and optional and job or nil
end

local function encode_job(job)
  return cjson.encode({
    s = job.state, f = job.phases, i = job.phase_number, a = job.attempt, u = job.uid, x = job.slot,
    k = job.serial_key, r = job.priority, q = job.arrival, h = job.hold_ms, y = job.when_lost,
    l = job.plan, t = job.tries, o = job.outcome, z = job.result, b = job.body,
    w = job.queue_ms, g = job.run_ms, e = job.limit, c = job.confirmed_by,
  })
end
