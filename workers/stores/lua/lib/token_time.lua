-- When the run of a token began: a token is microseconds and a nonce.
local function token_time(token) return tonumber(token:match('^%d+')) end
