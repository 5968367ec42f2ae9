-- Shared head, after names_head: who may pass.
-- KEYS[1] as there. META inc is `<server>/<mark of the rebuild>`: the server under which the ledger was verified.
-- ARGV and returns: see each script. A run gives the mark of the incarnation that it began under, and its token.
local function ready(server, run) -- the incarnation, or false
  local inc = call('HGET', META, 'inc')
  if run then return inc == server .. '/' .. run and inc end
  return inc and inc:sub(1, #server + 1) == server .. '/' and inc
end

local function refusal(server, run, name, tok)
  if not ready(server, run) then return 'NOT_READY' end
  if call('HGET', FENCES, name) ~= tok then return 'STALE' end
end

local function now_us()
  local t = call('TIME')
  return t[1] * 1000000 + t[2]
end

local function number_of(tok) return tonumber(tok:match('^%d+')) end -- a token is microseconds and a nonce
