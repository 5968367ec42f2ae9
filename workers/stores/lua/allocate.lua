-- Gives an owner a free port for every want, or nothing: then it joins the waiting list. A retry gets the same answer.
-- KEYS[1] prefix of the pool.
-- ARGV server, JSON [mark of the run's incarnation, name, token, uid, index to take candidates from (order, room, shuffled),
--   [key, ...] single ports, and, if there are runs, [[key, ports], ...] and the step: a run begins at a multiple of it; in a
--   pool of precreated listeners all are runs, [key, ports, kind]; last, the port where it must begin, if it must]: one
--   argument, for packing many costs the client more than all of this. uid, token and keys have no character that JSON escapes.
-- Returns {'NOT_READY'} | {'STALE'} | {'CLOSED'} | {'TAKEN'} (that port; it does not wait) | {'FULL', epoch, woken names} |
--   {'QUOTA', most of a namespace, what it has, woken names} (it makes no demand) |
--   JSON {"entries": ..., "lbs": {name: facts}, "woken": [names]}: one string, for the same reason.
-- This is its last part, after waiting_head: it meets the waiting list. asking_head and placing_head come before.
local picky = runs and runs[1] and 1 or 0
if over then return { 'QUOTA', m[7], string.format('%d', over), cap(name, lacking) } end
if not complete and exact then return { 'TAKEN' } end
local others = (m[8] or 0) + 0 > 0 -- some are capped, maybe this one
if others then uncap(name) end
local woken = complete and leave(name) or join(name, lacking, picky, kinds)
if others then admit(woken, name) end
if not complete then return { 'FULL', call('HGET', META, 'epoch'), woken } end
return answer .. (#woken > 0 and cjson.encode(woken) or '[]') .. '}'
