-- Writes the record of a pod, and the index of idle slots that goes with it.
--- @include "lib/keys"
--- @include "lib/busy_slots"
--- @include "lib/order"
--- @include "lib/withdraw_from_claims"

local function encode_pod(pod)
  local slots = {}
  for number, slot in ipairs(pod.slots) do
    slots[number] = slot and { j = slot.job, a = slot.attempt, s = slot.state, g = slot.grant }
  end
  return cjson.encode({
    n = pod.name, v = pod.view, k = pod.token, t = pod.reported_at, c = pod.closed_at, l = pod.layout, s = slots,
    r = pod.version,
  })
end

local function save_pod(uid, pod)
  redis.call('HSET', PODS, uid, encode_pod(pod))
  local is_open, slots, idle = pod.view == 'open', pod.slots, {}
  if not is_open then withdraw_from_claims(uid) end
  for number, class in ipairs(pod.layout) do idle[class] = idle[class] or not slots[number] end
  local rank = busy_slots(pod) * ORDER.busy_slot
  for class, any in pairs(idle) do
    if any and is_open then
      redis.call('ZADD', PREFIX .. 'free:' .. class, rank, uid)
    else
      redis.call('ZREM', PREFIX .. 'free:' .. class, uid)
    end
  end
end
