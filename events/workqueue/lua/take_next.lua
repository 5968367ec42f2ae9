--[[ Begins a drain: its hint counts no more, and the next ready key is given to it.
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, id of the hint ('' = none), lease (ms), nonce of this request
Returns {next, ids}: what the run needs (as lib/grant.lua says) or why there is none (not_ready, clean), and the ids of the
hints that the caller sends.
Rule unbegun: the id is taken off before the run, or a key that is marked during the run would wait for its end.
]]
--- @include "lib/keys"
--- @include "lib/grant"
--- @include "lib/grant_next"
--- @include "lib/replies"
--- @include "lib/top_up"
local incarnation, id, lease, nonce = unpack(ARGV)
redis.call('ZREM', SENT, id)
if redis.call('HGET', META, 'run') ~= incarnation then return {'not_ready', {}} end
local _, key = recalled(nonce)
local next = key and granted_before(key, lease, nonce) or grant_next(lease, nonce)
remember(nonce, 1, next)
return {next, top_up(true, 1)}
