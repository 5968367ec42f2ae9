-- Takes a name that is gone, or asks for nothing here any more, off the lists; wakes the next that fit.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token.
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', woken names}.
local server, run, name, tok = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
uncap(name)
return { 'OK', admit(leave(name), name) }
