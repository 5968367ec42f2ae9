-- The order of placement, weights from berthmaster/jobs/placement.py: what has the lower rank is taken first.
local ORDER = {} --- @table "order"
