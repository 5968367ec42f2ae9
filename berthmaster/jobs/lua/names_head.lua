-- First head of the slot scripts: the names of a pod pool's keys.
-- KEYS[1] is the pool's prefix with its hash tag, {sp:NAMESPACE/NAME}; every key is made from it, so that all are in one slot.
-- ARGV and returns: see each script. PODS: uid -> JSON (pods_head). JOBS: id -> JSON (jobs_head). CLASSES: what slots accept, `*` for any
-- job or `,kind,kind,`. wait:KINDS: jobs that wait for a slot, by urgency; SIGS: the KINDS that have any. blocked:KEY: jobs that
-- wait for a serial key; KEYED: key -> job that has it. DUE: reserved jobs by deadline, LATER: jobs that may not be placed yet,
-- SENT: placed jobs by the time of their next message, ENDED: jobs by the time of their end (all ms). EXPECT: pods that must report first,
-- NAMES: pods that shall be created and were not seen yet. RESULTS: stream of what clients wait for, the last ten thousand.
-- CLAIMABLE: pods that a claim may have by their creation, FACTS: uid -> JSON of what claims must know, owned:OWNER: its last ones.
local call, P = redis.call, KEYS[1]
local META, PODS, JOBS, KEYED = P .. 'meta', P .. 'pods', P .. 'jobs', P .. 'keyed'
local SIGS, CLASSES = P .. 'sigs', P .. 'classes'
local DUE, LATER, SENT, ENDED = P .. 'due', P .. 'later', P .. 'sent', P .. 'ended'
local EXPECT, NAMES, RESULTS = P .. 'expect', P .. 'names', P .. 'results'
local CLAIMABLE, FACTS = P .. 'claimable', P .. 'claimable-facts'
