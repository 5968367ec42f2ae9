-- The last reply to a drain, so that a request that a client repeats is answered as before (rule same).
--- @include "lib/keys"
local REMEMBERED = 60000 -- ms; a client has given up long before

local function remember(nonce, accepted, next)
  local key = type(next) == 'table' and next[1] or ''
  redis.call('SET', REPLY, nonce .. ' ' .. accepted .. ' ' .. key, 'PX', REMEMBERED)
end

-- Returns whether the end of the run was accepted (1 or 0), and the key that was granted or '', if the nonce is that of the
-- last request; nil if not.
local function recalled(nonce)
  local last = redis.call('GET', REPLY)
  if not last or last:sub(1, #nonce + 1) ~= nonce .. ' ' then return nil end
  return tonumber(last:sub(#nonce + 2, #nonce + 2)), last:sub(#nonce + 4)
end
