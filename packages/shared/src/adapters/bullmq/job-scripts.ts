/** A Lua script in the form that ioredis takes: it runs as one step, as far as every other client is concerned. */
interface Script {
  readonly numberOfKeys: number;
  readonly lua: string;
}

// What the scripts know of BullMQ's keys: `<prefix><id>` is a job's hash, in which `finishedOn` is set as long as it has
// ended and `atm` counts its failed attempts; `active` is a list of ids and a short one, unlike `wait`; `delayed` is
// sorted by the time in ms that a job is due at, times 4096. A deduplication key holds the id of the job that stands
// for a session or a user; BullMQ sets it with the job and removes it with the job's end.
const PENDING = `
local function isPending(prefix, id, activeKey)
  local job = prefix .. id
  return redis.call('EXISTS', job) == 1 and redis.call('HEXISTS', job, 'finishedOn') == 0
    and not redis.call('LPOS', activeKey, id)
end

local function dueAt(id, delayedKey)
  local score = redis.call('ZSCORE', delayedKey, id)
  return score and math.floor(tonumber(score) / 4096)
end
`;

/**
 * Before a job is added in the same transaction: BullMQ would count one that runs as the same, so a job that stands for
 * the session or user and is pending no longer stops standing for it. Answers the id of one that is pending but due
 * later than the new one. Ids begin at the time, so that after a loss of all data none is given twice.
 */
const makeRoom: Script = {
  numberOfKeys: 4,
  lua: `${PENDING}
local deduplicationKey, activeKey, delayedKey, idKey = unpack(KEYS)
local prefix, due, now = unpack(ARGV)
redis.call('SET', idKey, now, 'NX')
local id = redis.call('GET', deduplicationKey)
if not id then return false end
if not isPending(prefix, id, activeKey) then
  redis.call('DEL', deduplicationKey)
  return false
end
local current = dueAt(id, delayedKey)
return current and current > tonumber(due) and id or false
`,
};

/**
 * A job that runs has failed and is to be tried again. If another one is pending for the same session or user, the
 * earlier of the two stands for both: answers 1 if that is the other one, which then has the attempts and the failure
 * of this one, which is gone. Else 0, and this one stands for the session or user again.
 */
const stepAside: Script = {
  numberOfKeys: 4,
  lua: `${PENDING}
local deduplicationKey, activeKey, delayedKey, stalledKey = unpack(KEYS)
local prefix, id, token, attempts, failure, due = unpack(ARGV)
local job = prefix .. id
if redis.call('GET', job .. ':lock') ~= token then return 0 end
local other = redis.call('GET', deduplicationKey)
if not other or other == id or not isPending(prefix, other, activeKey) then
  redis.call('SET', deduplicationKey, id)
  return 0
end
local current = dueAt(other, delayedKey)
if current and current > tonumber(due) then
  redis.call('ZREM', delayedKey, other)
  redis.call('DEL', prefix .. other)
  redis.call('SET', deduplicationKey, id)
  return 0
end
redis.call('LREM', activeKey, -1, id)
redis.call('SREM', stalledKey, id)
redis.call('DEL', job, job .. ':lock')
local made = tonumber(redis.call('HGET', prefix .. other, 'atm')) or 0
redis.call('HSET', prefix .. other, 'atm', math.max(made, tonumber(attempts)), 'failedReason', failure)
return 1
`,
};

/**
 * A failed job is to wait again. Answers -1 if it is not failed, 0 if another one is pending for the same session or
 * user, which now stands for both, and 1 if the job may go back.
 */
const takeBack: Script = {
  numberOfKeys: 3,
  lua: `${PENDING}
local deduplicationKey, activeKey, failedKey = unpack(KEYS)
local prefix, id = unpack(ARGV)
if not redis.call('ZSCORE', failedKey, id) then return -1 end
local other = redis.call('GET', deduplicationKey)
if other and other ~= id and isPending(prefix, other, activeKey) then
  redis.call('ZREM', failedKey, id)
  redis.call('DEL', prefix .. id)
  return 0
end
redis.call('SET', deduplicationKey, id)
return 1
`,
};

/**
 * Where a new job stands in a line that is fair over tenants: start-time fair queueing, see `FairLine`, with the tag as
 * BullMQ's priority. What waits is in `prioritized`, sorted by priority times 2^32; the least of these is where the line
 * is now. When nothing waits, all tags are forgotten. A tag beyond BullMQ's greatest priority is that: then tenants with
 * such tags are served in the order in which their jobs came, until nothing waits.
 */
const placeInLine: Script = {
  numberOfKeys: 4,
  lua: `${PENDING}
local deduplicationKey, activeKey, prioritizedKey, tagsKey = unpack(KEYS)
local prefix, tenant, step, greatest = unpack(ARGV)
local first = redis.call('ZRANGE', prioritizedKey, 0, 0, 'WITHSCORES')[2]
if not first then redis.call('DEL', tagsKey) end
local now = first and math.floor(tonumber(first) / 4294967296) or 0
local last = tonumber(redis.call('HGET', tagsKey, tenant)) or 0
local tag = math.min(math.max(now, last) + tonumber(step), tonumber(greatest))
local pending = redis.call('GET', deduplicationKey)
if not pending or not isPending(prefix, pending, activeKey) then
  redis.call('HSET', tagsKey, tenant, tag)
end
return tag
`,
};

/** Answers 1 if the tenant had a slot left for the job, or the job had one already; else 0. */
const takeSlot: Script = {
  numberOfKeys: 2,
  lua: `
local runningKey, parkedKey = unpack(KEYS)
local now, expiry, id, most = unpack(ARGV)
redis.call('ZREMRANGEBYSCORE', runningKey, '-inf', now)
if redis.call('ZCARD', runningKey) >= tonumber(most) and not redis.call('ZSCORE', runningKey, id) then
  return 0
end
redis.call('ZREM', parkedKey, id)
redis.call('ZADD', runningKey, expiry, id)
redis.call('PEXPIREAT', runningKey, expiry)
return 1
`,
};

/**
 * Gives a slot back, if the job had one; with an order, the job has been parked and is noted as that. Answers the id of the
 * parked job that is next, if there is a slot for it: perhaps this one, since one may have become free meanwhile.
 */
const freeSlot: Script = {
  numberOfKeys: 2,
  lua: `
local runningKey, parkedKey = unpack(KEYS)
local now, id, most, order = unpack(ARGV)
redis.call('ZREM', runningKey, id)
if order then redis.call('ZADD', parkedKey, order, id) end
redis.call('ZREMRANGEBYSCORE', runningKey, '-inf', now)
if redis.call('ZCARD', runningKey) >= tonumber(most) then return false end
return redis.call('ZPOPMIN', parkedKey)[1] or false
`,
};

const renewSlots: Script = {
  numberOfKeys: 2,
  lua: `
local runningKey = KEYS[1]
for i = 2, #ARGV do redis.call('ZADD', runningKey, 'XX', ARGV[1], ARGV[i]) end
redis.call('PEXPIREAT', runningKey, ARGV[1])
return 1
`,
};

/** What the queue asks of Redis beyond BullMQ's own scripts, by the names of the commands that they become. */
export const jobScripts = {
  turnwireMakeRoom: makeRoom,
  turnwireStepAside: stepAside,
  turnwireTakeBack: takeBack,
  turnwirePlaceInLine: placeInLine,
  turnwireTakeSlot: takeSlot,
  turnwireFreeSlot: freeSlot,
  turnwireRenewSlots: renewSlots,
} as const;
