-- Confirms that an entry is still this uid's and not releasing: asked between finding a listener in the way and deleting it.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK'}.
--- @include "lib/refusal"
--- @include "lib/entries_of"
local server, mark, name, token, uid, key = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entry = entries_of(name)[key]
return { entry and entry.uid == uid and entry.state ~= 'releasing' and 'OK' or 'CHANGED' }
