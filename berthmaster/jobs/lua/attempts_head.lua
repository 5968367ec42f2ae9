-- Fifth head: how a job gets its serial key and its slot.
-- KEYS[1] as in names_head.
-- ARGV and returns: see each script.
local AGAIN = 30000 -- ms after which a placed job that has not started is sent again
local placed = {} -- what the caller must send: JSON {id, attempt, uid, pod, phase, tries, job {f, k, r, h, y, b}}

local function message(id, j, pod)
  local job = { f = j.f, k = j.k, r = j.r, h = j.h, y = j.y, b = j.b }
  return cjson.encode({ id = id, attempt = j.a, uid = j.u, pod = pod.n, phase = j.f[j.i], tries = j.t, job = job })
end

local function has_key(id, j) -- takes the serial key if it must and can, else lines up for it
  if behind(id, j) then return false end
  if exclusive(j) then call('HSET', KEYED, j.k, id) end
  return true
end

local function run_in(id, j, uid, pod, x) -- a new attempt of its phase, in that slot
  dequeue(id, j)
  j.s, j.a, j.u, j.x = 'placed', next_attempt(), uid, x
  keep_job(id, j)
  set_slot(uid, pod, x, { j = id, a = j.a, s = 'running', g = 0 })
  call('ZADD', SENT, now_ms() + AGAIN, id)
  placed[#placed + 1] = message(id, j, pod)
end
