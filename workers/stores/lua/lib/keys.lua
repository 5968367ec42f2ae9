--[[ The keys of a pool's ledger that most scripts need, made from its prefix. All of a pool's keys are in one slot.

Others are in pool_keys.lua, stock_keys.lua and waiting_keys.lua: `allocate` is called the most, and each name that it
makes costs it as much as a small step.

KEYS[1] prefix of the pool with its hash tag, {pp:NAME}

META      hash   incarnation (`<server>/<mark of the rebuild>`: the server under which the ledger was verified), epoch, state,
                 config, start and size (of the range of ports), share (the most ports of one namespace), precreated (in a pool
                 with precreated listeners: how many of each kind a load balancer has, one kind after the other from the first
                 port on, as `3,2,0`; else ''), intent (the open one), rebuild (the one that has begun), floor (runs whose token
                 has a lower number are refused), swept (ms of the last look at retained entries), comparison (number of the
                 last request to compare).
                 Sums: free (ports that load balancers can still give), freed (times that ports became free), waiters (names on
                 the waiting list), demand (ports that those want), woken (ports that the woken want), stuck (ports that picky
                 waiters want who are not woken), kept (of each kind, what the woken want), capped (names in CAP)
FENCES    hash   name -> token of its newest run
OWNERS    hash   name -> JSON of its entries (lib/entries_of.lua)
LBS       hash   of each load balancer LB: facts:LB (JSON), capacity:LB (ports that it may carry; none: it gives no new ones),
                 used:LB, taken:LB (bits, lib/get_bit.lua), empty:LB (ms since when; says nothing while it is in use),
                 retiring:LB, absent:LB (only with precreated listeners: JSON list of its ports that lack theirs)
ORDER     zset   load balancers with something to give, by position
ROOM      zset   the same ones, by use
DEMAND    hash   name of a waiter -> `ports:joined:picky:freed:kinds` (lib/demand_of.lua)
NAMESPACES hash  namespace -> ports that its pods hold or are on the waiting list for
]]
-- luacheck: push ignore 211
-- Each script uses some of them.
local call, PREFIX = redis.call, KEYS[1]
local META, FENCES, OWNERS, LBS = PREFIX .. 'meta', PREFIX .. 'fences', PREFIX .. 'owners', PREFIX .. 'lbs'
local ORDER, ROOM, DEMAND, NAMESPACES = PREFIX .. 'order', PREFIX .. 'room', PREFIX .. 'demand', PREFIX .. 'spaces'
-- luacheck: pop
