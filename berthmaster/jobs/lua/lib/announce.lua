-- Tells whoever waits for the job what has become of it.
--- @include "lib/keys"
local function announce(id, job)
  local limit = job.limit and { 'limit', job.limit } or {}
  redis.call('XADD', RESULTS, 'MAXLEN', '~', 10000, '*', 'job', id, 'state', job.outcome or job.state,
    'attempt', job.attempt, 'result', job.result or '', unpack(limit))
end
