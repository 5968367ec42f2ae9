-- Places waiting jobs, at the end of every script that gives a slot, a key or a job free. Fills `placed` (lib/messages). Jobs that
-- begin to wait for a slot in that script are entries of OUTBOX: workers turn these into events. A job that a free slot takes, and
-- that is not placed because the script has placed as many as it may, is UNDECIDED until the sweep goes on.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/order"
--- @include "lib/accepts"
--- @include "lib/lines"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/transition"
--- @include "lib/apply"
--- @include "lib/messages"
--- @include "lib/add_to_outbox"
local PLACE = {} --- @table "place"

local function is_before(class, other)
  local rank = #class + (class == '*' and ORDER.any_job or 0)
  local other_rank = #other + (other == '*' and ORDER.any_job or 0)
  return rank < other_rank or (rank == other_rank and class < other)
end

local function idle_slot(classes, phases) -- uid, class: the first class that takes them, on the first of its pods
  for _, class in ipairs(classes) do
    local uid = accepts(class, phases) and redis.call('ZRANGE', PREFIX .. 'free:' .. class, 0, 0)[1]
    if uid then return uid, class end
  end
end

local function slot_number(pod, class)
  for number, other in ipairs(pod.layout) do if other == class and not pod.slots[number] then return number end end
end

local function first_of(line) -- id, rank
  return unpack(redis.call('ZRANGE', line, 0, 0, 'WITHSCORES'))
end

local function next_to_place(classes) -- id, job, uid, class of the first waiting job that fits anywhere
  local first, lowest
  for _, kinds in ipairs(redis.call('SMEMBERS', SIGS)) do
    local line, job = PREFIX .. 'wait:' .. kinds, nil
    local id, rank = first_of(line)
    while id and not job and (not lowest or tonumber(rank) < lowest) do
      job = load_job(id)
      if not job then -- a record that cannot be read leaves the line
        redis.call('ZREM', line, id)
        id, rank = first_of(line)
      end
    end
    if not id then redis.call('SREM', SIGS, kinds) end
    local uid, class = idle_slot(job and classes or {}, job and job.phases)
    if uid then first, lowest = { id = id, job = job, uid = uid, class = class }, tonumber(rank) end
  end
  return first
end

local function classes_in_order()
  local classes = redis.call('SMEMBERS', CLASSES)
  table.sort(classes, is_before)
  return classes
end

local function place_waiting(classes) -- false: as many as one script may, and perhaps not all
  for _ = 1, 10 * ORDER.most_placed do -- what is in an index and nowhere else leaves it
    if #placed >= ORDER.most_placed then return false end
    local next_job = next_to_place(classes)
    if not next_job then return true end
    local id, job, uid = next_job.id, next_job.job, next_job.uid
    local row, pod = transition(job, PLACE, {}), load_pod(uid)
    local number = pod and slot_number(pod, next_job.class)
    if not number then
      redis.call('ZREM', PREFIX .. 'free:' .. next_job.class, uid)
    elseif row and not wait_for_key(id, job) then
      apply(id, job, row, { uid = uid, pod = pod, slot = number })
    else
      redis.call('ZREM', PREFIX .. 'wait:' .. kinds_of(job), id)
      lined_up[id] = nil
    end
  end
  return false
end

local function place(server)
  local classes = classes_in_order()
  local is_complete = not is_verified(server) or place_waiting(classes)
  for id, job in pairs(lined_up) do
    if is_complete or not idle_slot(classes, job.phases) then
      add_to_outbox('job', id, 'phases', table.concat(job.phases, ','))
    else
      redis.call('SADD', UNDECIDED, id)
    end
  end
end
