-- The names of a pod pool's keys. KEYS[1] is the pool's prefix with its hash tag, {sp:NAMESPACE/NAME}; every key is made
-- from it, so that all are in one slot of a cluster.
-- PODS: uid -> record (lib/pods). JOBS: id -> record (lib/jobs). CLASSES: what slots accept, `*` for any job or
-- `,kind,kind,`; free:CLASS has the open pods with an idle slot of the class. wait:KINDS: jobs that wait for a slot, by rank;
-- SIGS: the KINDS that have any. blocked:KEY: jobs that wait for a serial key, LINES: the keys that have any; KEYED: key -> job
-- that has it; BESIDE: ids of jobs that a runner ran while another had their key. UNREADABLE: ids of jobs whose record a script
-- could not read. ON_PODS: id of a job -> uid and name of the pod that it is on. DUE: reserved
-- jobs by deadline, LIMITS: jobs by the deadline of the limit that counts in their state, LATER: jobs that may not be placed yet,
-- SENT: placed jobs by the time of their next message, STOPPING: jobs by the time at which their runner was asked to stop them,
-- ENDED: jobs by the time of their end (all ms). OUTBOX: stream of what is no event yet, the last ten thousand: jobs that began to
-- wait for a slot (job, phases), and decisions (job, decision, by, plan). UNDECIDED: jobs that began to wait while a slot was free
-- for them. EXPECT: pods that must report first, NAMES: pods that shall be created and are not known yet. RESULTS: stream of what
-- clients wait for, the last ten thousand.
-- CLAIMABLE: pods that a claim may have by their creation, FACTS: uid -> JSON of what claims must know, owned:OWNER: the last pods of
-- an owner.
-- META: inc (the server under which every pod of the pool has reported), seen (the server of the present verification),
-- mark (its name), asked (when it began), attempts, grants and arrivals (counters), run (token of the run that has the
-- pool), size, up, down (of scaling, ms), hold_ms, queue_ms and run_ms (limits of jobs by the spec), swept and noted (ms: TIME of
-- the last sweep or before it, and that or after it), revision, told (of claimable pods), log_bytes (of all logs).
-- SIZES: stream of points of the pool's size over time, for people.
-- LOGS: id of a job -> its logs (lib/logs), log:ATTEMPT: stream of what an attempt printed, LOGGED: jobs that have logs, by the time
-- of the last line (ms).
-- luacheck: push ignore 211
-- Each script uses some of them.
local PREFIX = KEYS[1]
local META, PODS, JOBS, KEYED = PREFIX .. 'meta', PREFIX .. 'pods', PREFIX .. 'jobs', PREFIX .. 'keyed'
local SIGS, CLASSES = PREFIX .. 'sigs', PREFIX .. 'classes'
local DUE, LATER, SENT, ENDED = PREFIX .. 'due', PREFIX .. 'later', PREFIX .. 'sent', PREFIX .. 'ended'
local LIMITS, STOPPING = PREFIX .. 'limits', PREFIX .. 'stopping'
local LINES, UNREADABLE = PREFIX .. 'lines', PREFIX .. 'unreadable'
local BESIDE, ON_PODS = PREFIX .. 'beside', PREFIX .. 'on-pods'
local EXPECT, NAMES, RESULTS = PREFIX .. 'expect', PREFIX .. 'names', PREFIX .. 'results'
local OUTBOX, UNDECIDED = PREFIX .. 'outbox', PREFIX .. 'undecided'
local SIZES = PREFIX .. 'sizes'
local LOGS, LOGGED = PREFIX .. 'logs', PREFIX .. 'logged'
local CLAIMABLE, FACTS = PREFIX .. 'claimable', PREFIX .. 'claimable-facts'
-- luacheck: pop
