-- Records the decision about a job as an event: `confirmed` with the attempt of the plan, or `cancelled`.
-- `person`: the name of who has decided, '' if nobody said it.
--- @include "lib/add_to_outbox"

local function record_decision(id, decision, person, plan)
  add_to_outbox('job', id, 'decision', decision, 'by', person, 'plan', plan or '')
end
