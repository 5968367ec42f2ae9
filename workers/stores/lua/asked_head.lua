-- Part of `allocate`, after asking_head: whether the namespace may have so many ports more. META share is the most of one.
-- KEYS[1], ARGV, returns: see allocate.lua. `over`: nil, or what its pods hold and wait for, without this one's waiting.
local space, over = name:match('^[^/]*'), nil
if m[7] and lacking > 0 then
  local waited = tonumber((m[6] or 0) + 0 > 0 and (call('HGET', DEMAND, name) or ''):match('^%d+') or 0)
  over = (call('HGET', SPACES, space) or 0) - waited
  if over + lacking <= m[7] + 0 then over = nil end
end
