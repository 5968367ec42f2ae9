-- The states in which a job can have its serial key, from berthmaster/jobs/lifecycle.py.
local KEY_HOLDERS = {} --- @table "key_holders"
