-- A pod is gone from Kubernetes: its jobs are placed again, or lost, and nothing is known of it any more.
-- KEYS[1] prefix of the pool.
-- ARGV server, uid.
-- Returns {'NOT_READY'} | {'OK', placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/withdraw_from_claims"
--- @include "lib/pod_reported"
--- @include "lib/messages"
--- @include "lib/jobs_on"
--- @include "lib/lose_job"
--- @include "lib/place"
local LOSE = {} --- @table "lose"
local server, uid = unpack(ARGV)
if redis.call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local pod = load_pod(uid)
redis.call('HDEL', PODS, uid) -- first, so that nothing is placed on it
for _, class in ipairs(redis.call('SMEMBERS', CLASSES)) do redis.call('ZREM', PREFIX .. 'free:' .. class, uid) end
withdraw_from_claims(uid)
for _, slot in ipairs(pod and pod.slots or {}) do
  local job = slot and load_job(slot.job)
  if job and job.attempt == slot.attempt then lose_job(slot.job, job, LOSE) end
end
for _, id in ipairs(jobs_on(uid)) do -- also those that the record of the pod does not say
  local job = load_job(id)
  redis.call('HDEL', ON_PODS, id)
  if job and job.uid == uid then lose_job(id, job, LOSE) end
end

local function classes_left()
  local left = {}
  for _, text in ipairs(redis.call('HVALS', PODS)) do
    local other = pod_of_text(text)
    for _, class in ipairs(other and other.layout or {}) do left[class] = true end
  end
  return left
end

local left = classes_left()
-- A class that no slot has any more frees no phase of its serial key.
for _, class in ipairs(pod and pod.layout or {}) do
  if not left[class] then redis.call('SREM', CLASSES, class) end
end
pod_reported(server, uid)
place(server)
return { 'OK', placed }
