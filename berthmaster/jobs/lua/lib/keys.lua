-- The names of a pod pool's keys. KEYS[1] is the pool's prefix with its hash tag, {sp:NAMESPACE/NAME}; every key is made
-- from it, so that all are in one slot of a cluster.
-- PODS: uid -> record (lib/pods). JOBS: id -> record (lib/jobs). CLASSES: what slots accept, `*` for any job or
-- `,kind,kind,`; free:CLASS has the open pods with an idle slot of the class. wait:KINDS: jobs that wait for a slot, by rank;
-- SIGS: the KINDS that have any. blocked:KEY: jobs that wait for a serial key; KEYED: key -> job that has it. DUE: reserved
-- jobs by deadline, LATER: jobs that may not be placed yet, SENT: placed jobs by the time of their next message, ENDED: jobs
-- by the time of their end (all ms). EXPECT: pods that must report first, NAMES: pods that shall be created and are not
-- known yet. RESULTS: stream of what clients wait for, the last ten thousand. CLAIMABLE: pods that a claim may have by
-- their creation, FACTS: uid -> JSON of what claims must know, owned:OWNER: the last pods of an owner.
-- META: inc (the server under which every pod of the pool has reported), seen (the server of the present verification),
-- mark (its name), asked (when it began), attempts, grants and arrivals (counters), run (token of the run that has the
-- pool), size, up, down (of scaling, ms), swept (ms), revision, told (of claimable pods).
-- luacheck: push ignore 211
-- Each script uses some of them.
local PREFIX = KEYS[1]
local META, PODS, JOBS, KEYED = PREFIX .. 'meta', PREFIX .. 'pods', PREFIX .. 'jobs', PREFIX .. 'keyed'
local SIGS, CLASSES = PREFIX .. 'sigs', PREFIX .. 'classes'
local DUE, LATER, SENT, ENDED = PREFIX .. 'due', PREFIX .. 'later', PREFIX .. 'sent', PREFIX .. 'ended'
local EXPECT, NAMES, RESULTS = PREFIX .. 'expect', PREFIX .. 'names', PREFIX .. 'results'
local CLAIMABLE, FACTS = PREFIX .. 'claimable', PREFIX .. 'claimable-facts'
-- luacheck: pop
