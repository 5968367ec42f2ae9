-- The logs of jobs. A log: attempt, phase, bytes (as the bounds count them), last (number of its last line), ended. The lines of an
-- attempt are a stream of their own; LOGS has what is known of each log of a job, the oldest first.
--- @include "lib/keys"
--- @include "lib/decode_json"
local function log_key(attempt) return PREFIX .. 'log:' .. attempt end

local function is_log(log)
  local types = type(log) == 'table' and type(log.attempt) .. type(log.phase) .. type(log.bytes) .. type(log.last)
  return types == 'stringstringnumbernumber'
end

local function load_logs(id)
  local logs = {}
  for _, log in ipairs(decode_json(redis.call('HGET', LOGS, id) or '') or {}) do
    if is_log(log) then logs[#logs + 1] = log end
  end
  return logs
end

local function forget_log(log)
  redis.call('DEL', log_key(log.attempt))
  redis.call('HINCRBY', META, 'log_bytes', -log.bytes)
end

local function forget_logs(id)
  for _, log in ipairs(load_logs(id)) do forget_log(log) end
  redis.call('HDEL', LOGS, id)
  redis.call('ZREM', LOGGED, id)
end
