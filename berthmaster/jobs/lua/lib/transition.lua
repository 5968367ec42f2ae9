-- The row of the table of transitions for a job's state and for the facts that hold, nil when the state refuses the event.
-- `rows` are those of one event: state -> [{when [fact, ...], state, ...}, ...], from berthmaster/jobs/lifecycle.py.
local function transition(job, rows, facts)
  for _, row in ipairs(rows[job.state] or {}) do
    local holds = true
    for _, fact in ipairs(row.when or {}) do holds = holds and facts[fact] end
    if holds then return row end
  end
end
