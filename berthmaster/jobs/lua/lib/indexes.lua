-- Where a job is found again: in a line, or by a time. Which index goes with which state comes from berthmaster/jobs/lifecycle.py.
--- @include "lib/keys"
--- @include "lib/noted_ms"
--- @include "lib/lines"
local INDEXES = {} --- @table "indexes"
local RESEND_MS = {} --- @table "resend_ms"
local BY_TIME = { later = LATER, sent = SENT, due = DUE, stopping = STOPPING, ended = ENDED }

local function leave_indexes(id, job)
  for _, index in ipairs(INDEXES[job.state]) do
    if index == 'line' then leave_line(id, job) else redis.call('ZREM', BY_TIME[index], id) end
  end
end

local function enter_index(id, job, index, wait)
  if index == 'line' then return enter_line(id, job) end
  local after = wait or index == 'sent' and RESEND_MS or index == 'due' and job.hold_ms or 0
  redis.call('ZADD', BY_TIME[index], noted_ms() + after, id)
end
