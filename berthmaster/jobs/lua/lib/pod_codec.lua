-- A stored pod has letters for the names of its fields, as a job has; lib/save_pod writes them. What is no pod of ours becomes nil.
--- @include "lib/value_types"

local function decode_slot(stored) -- false: idle
  if not stored then return stored end
  local slot = type(stored) == 'table' and { job = stored.j, attempt = stored.a, state = stored.s, grant = stored.g }
  local complete = slot and is_text(slot.job) and is_text(slot.attempt) and is_text(slot.state)
    and is_number(slot.grant)
  return complete and slot or nil
end

local function decode_pod(stored)
  local pod = {
    name = stored.n, view = stored.v, token = stored.k, reported_at = stored.t, closed_at = stored.c, layout = stored.l,
    version = stored.r, slots = {},
  }
  local complete = is_text(pod.name) and is_text(pod.view) and is_text(pod.token) and is_number(pod.reported_at)
    and (pod.closed_at == nil or is_number(pod.closed_at)) and are_texts(pod.layout) and type(stored.s) == 'table'
    and (pod.version == nil or is_text(pod.version))
  if not complete then return nil end
  for number = 1, #pod.layout do
    pod.slots[number] = decode_slot(stored.s[number])
    if pod.slots[number] == nil then return nil end
  end
  return pod
end
