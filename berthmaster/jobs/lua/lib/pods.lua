-- Reads the records of pods. What cannot be read counts as none, and stays until the pod's runner reports, or the pod is gone.
-- A pod: name, view, token (of who closed it), reported_at and closed_at (ms), layout [class, ...], version (of its runner),
--   slots [false or {job, attempt, state, grant}, ...]. View: new (reported, not open yet), open, fenced, claimed, away, ending.
--   Only open pods are in free:CLASS. The state of a slot is running or reserved.
--- @include "lib/keys"
--- @include "lib/decode_json"
--- @include "lib/pod_codec"

local function pod_of_text(text) -- nil for what is no pod
  local stored = decode_json(text)
  return stored and decode_pod(stored)
end

local function load_pod(uid)
  local text = redis.call('HGET', PODS, uid)
  return text and pod_of_text(text) or nil
end
