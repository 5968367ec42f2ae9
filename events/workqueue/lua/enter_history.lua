--[[ Tells the history of the API that marks belong to; begins a new one when the API's versions went back.
KEYS  as in lib/keys.lua
ARGV  epoch, '1' = begin a new one
Returns its number, nil if another epoch was assumed.
Whatever is stored of an older history is replaced by any mark: a publisher that dies right after this loses nothing.
]]
--- @include "lib/keys"
local epoch, anew = unpack(ARGV)
if redis.call('HGET', META, 'epoch') ~= epoch then return false end
local history = tonumber(redis.call('HGET', META, 'history') or 0)
if anew == '1' or history == 0 then history = history + 1 end
redis.call('HSET', META, 'history', string.format('%06d', history))
return history
