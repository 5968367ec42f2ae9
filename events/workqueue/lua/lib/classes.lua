-- The classes of ready keys are numbered in their order of priority (berthmaster/kinds.py); the slow one is the last.
local SLOW = 4

-- Returns the ready queue of a class.
local function ready_queue(class)
  return KEYS[9 + class]
end
