--[[ Returns the history of the API for later marks; begins a new one when the API's versions went back.
KEYS  as in lib/keys.lua
ARGV  epoch, '1' = begin a new one
Returns its number, nil if another epoch was assumed.
Any mark replaces a snapshot of an older history: a publisher that dies right after this script loses nothing.
]]
--- @include "lib/keys"
local epoch, anew = unpack(ARGV)
if redis.call('HGET', META, 'epoch') ~= epoch then return false end
local history = tonumber(redis.call('HGET', META, 'history') or 0)
if anew == '1' or history == 0 then history = history + 1 end
redis.call('HSET', META, 'history', string.format('%06d', history))
return history
