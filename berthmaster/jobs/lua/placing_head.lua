-- Seventh head: placement. Run at the end of every script that gives a slot, a key or a job free.
-- KEYS[1] as in names_head.
-- ARGV and returns: see each script. `place` leaves in `placed` what the caller must send; MOST bounds it, the sweep goes on.
local MOST = 100

local function pickier(a, b)
  if a == '*' or b == '*' then return b == '*' and a ~= '*' end
  return #a < #b or (#a == #b and a < b)
end

local function room_for(classes, phases) -- uid, class: the pickiest slot that takes them, on the fullest pod
  for _, class in ipairs(phases and classes or {}) do
    local uid = takes(class, phases) and call('ZRANGE', P .. 'free:' .. class, 0, 0)[1]
    if uid then return uid, class end
  end
end

local function slot_of(pod, class)
  for x, each in ipairs(pod.l) do if each == class and not pod.s[x] then return x end end
end

local function most_urgent(classes) -- id, job, uid, class of the first waiting job that fits anywhere
  local id, low, uid, class
  for _, kinds in ipairs(call('SMEMBERS', SIGS)) do
    local head = call('ZRANGE', P .. 'wait:' .. kinds, 0, 0, 'WITHSCORES')
    if not head[1] then
      call('SREM', SIGS, kinds)
    elseif not low or tonumber(head[2]) < low then
      local j = job_of(head[1])
      if not j then call('ZREM', P .. 'wait:' .. kinds, head[1]) end
      local at, fit = room_for(classes, j and j.f)
      if at then id, low, uid, class = head[1], tonumber(head[2]), at, fit end
    end
  end
  return id, uid, class
end

local function place(server)
  if not ready(server) then return end
  local classes = call('SMEMBERS', CLASSES)
  table.sort(classes, pickier)
  for _ = 1, 10 * MOST do -- what is in an index and nowhere else leaves it
    local id, uid, class = most_urgent(classes)
    if not id or #placed == MOST then return end
    local j, pod = job_of(id), pod_of(uid)
    local x = pod and slot_of(pod, class)
    if not x then call('ZREM', P .. 'free:' .. class, uid)
    elseif has_key(id, j) then run_in(id, j, uid, pod, x)
    else
      call('ZREM', P .. 'wait:' .. kinds_of(j), id)
    end
  end
end
