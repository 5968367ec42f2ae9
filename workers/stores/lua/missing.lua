-- Forgets the listener, or only the target, of an entry that AWS does not have any more, so that the owner's run makes it again.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, entry key, listener ARN of the entry, target that is missing ('': the listener is).
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
local server, name, key, listener, target = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local held = entries(name)
local e = held[key]
if not e or e.s == 'releasing' or e.l ~= listener or (target ~= '' and e.a ~= target) then return { 'CHANGED' } end
if target == '' then e.l = '' end
e.a = ''
keep(name, held)
return { 'OK' }
