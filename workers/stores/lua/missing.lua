-- Forgets the listener of an entry that AWS does not have any more, so that the owner's run makes it again.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, entry key, listener ARN that is missing.
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
local server, name, key, listener = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local held = entries(name)
local e = held[key]
if not e or e.s == 'releasing' or e.l ~= listener then return { 'CHANGED' } end
e.l, e.a = '', ''
keep(name, held)
return { 'OK' }
