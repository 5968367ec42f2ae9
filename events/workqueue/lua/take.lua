--[[ Gives one key, if it is dirty, to a worker that was asked for it, under a lease and a new token.
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, key, lease (ms), nonce of this request, '1' = mark it dirty first (rule markfirst), trace
Returns {next, ids}: what the run needs (as lib/grant.lua says) or why it was not taken (not_ready, held, clean), and the ids
of the hints that the caller sends.
]]
--- @include "lib/keys"
--- @include "lib/classes"
--- @include "lib/grant"
--- @include "lib/mark_dirty"
--- @include "lib/now_ms"
--- @include "lib/own_queue"
--- @include "lib/top_up"
local incarnation, key, lease, nonce, requested, trace = unpack(ARGV)
local open = redis.call('HGET', META, 'run') == incarnation
local again = open and granted_before(key, lease, nonce)
if again then return {again, {}} end
if requested == '1' then mark_dirty(key, trace) end
if not open then return {'not_ready', {}} end
local was_ready = redis.call('ZREM', own_queue(key), key) + redis.call('ZREM', ready_queue(SLOW), key) > 0
local dirty = redis.call('HEXISTS', DIRTY, key) == 1
if dirty and not was_ready and tonumber(redis.call('ZSCORE', TIMER, key) or 0) > now_ms() then return {'held', {}} end
if not dirty then return {'clean', {}} end
return {grant(key, lease, nonce), top_up(true)}
