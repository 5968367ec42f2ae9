-- Fourth head: jobs, where they wait, and how one gets a slot.
-- KEYS[1] as in names_head. A job is JSON {s state, f [phase, ...], i number of its phase, a attempt, u pod, x slot, k serial key or '',
--   r priority (0 first), q number of its arrival, h ms of a reservation, y what becomes of it when it is lost (requeue, fail),
--   l attempt of its plan, t times that it could not be sent, o outcome, z result, b what the client sent}.
-- ARGV and returns: see each script. State: waiting, placed, running, reserved, confirmed, cancelling, unknown, done.
local function job_of(id)
  local json = call('HGET', JOBS, id)
  local j = json and json_of(json)
  if is_job(j) then return j end
  if json then call('HDEL', JOBS, id) end
end

local function keep_job(id, j) call('HSET', JOBS, id, cjson.encode(j)) end

local function tell(id, j, state) -- to whoever waits for it
  call('XADD', RESULTS, 'MAXLEN', '~', 10000, '*', 'job', id, 'state', state, 'attempt', j.a, 'result', j.z or '')
end

local function takes(class, phases) -- whether such a slot takes a job of these phases
  for _, phase in ipairs(phases) do
    if class ~= '*' and not class:find(',' .. phase .. ',', 1, true) then return false end
  end
  return true
end

local function exclusive(j) -- a phase that only slots for any job take is alone behind its serial key
  if j.k == '' then return false end
  for _, class in ipairs(call('SMEMBERS', CLASSES)) do
    if class ~= '*' and takes(class, { j.f[j.i] }) then return false end
  end
  return true
end

local function kinds_of(j)
  local kinds = { unpack(j.f) }
  table.sort(kinds)
  return table.concat(kinds, ',')
end

local function behind(id, j) -- lines up for the serial key that another job has: confirmed work first
  local holder = exclusive(j) and call('HGET', KEYED, j.k)
  if not holder or holder == id then return false end
  local rank = (j.s == 'confirmed' and 0 or 2 ^ 48) + j.r * 2 ^ 44 + j.q
  call('ZADD', P .. 'blocked:' .. j.k, string.format('%.0f', rank), id)
  return true
end

local function enqueue(id, j) -- for a slot, unless no slot would be of use to it
  if behind(id, j) then return end
  call('ZADD', P .. 'wait:' .. kinds_of(j), string.format('%.0f', j.r * 2 ^ 44 + j.q), id)
  call('SADD', SIGS, kinds_of(j))
end

local function dequeue(id, j)
  call('ZREM', P .. 'wait:' .. kinds_of(j), id); call('ZREM', P .. 'blocked:' .. j.k, id)
  call('ZREM', LATER, id); call('ZREM', DUE, id); call('ZREM', SENT, id)
end
