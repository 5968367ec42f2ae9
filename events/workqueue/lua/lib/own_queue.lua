-- Returns the ready queue of a key: that of its kind, or the slow one for a kind that nobody reconciles.
--- @include "lib/classes"
local CLASS_OF = {} --- @table "class_of"

local function own_queue(key)
  return ready_queue(CLASS_OF[key:match('^[^/]*')] or SLOW)
end
