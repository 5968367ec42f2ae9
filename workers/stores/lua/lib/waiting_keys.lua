--[[ Keys of the waiting list, besides DEMAND and NAMESPACES in keys.lua.

WAITING   zset   waiting names, by when they joined (ms)
WOKEN     zset   woken names, by when that was (ms). A sweep finds those that made no progress
CAPPED    zset   by members alone: `namespace/ms of joining/ports/name` of pods whose namespace has its share. They make no demand
CAP       hash   name -> its member in CAPPED
WAITERS   hash   name of a pod that waits, on either list -> its UID
OUTBOX    stream of waits that began and are no event yet, the last ten thousand: name, uid, ports, reason
]]
--- @include "lib/keys"
-- luacheck: push ignore 211
-- Each script uses some of them.
local WAITING, WOKEN = PREFIX .. 'waiting', PREFIX .. 'woken'
local CAPPED, CAP = PREFIX .. 'capped', PREFIX .. 'cap'
local WAITERS, OUTBOX = PREFIX .. 'waiters', PREFIX .. 'outbox'
-- luacheck: pop
