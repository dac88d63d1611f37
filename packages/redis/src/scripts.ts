import { createHash } from "node:crypto";
import { messageOf } from "./health/replica.js";

/** A Lua script, and the SHA-1 hash that identifies it on a server that has already run it. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/*
 * A record is one string, whose first letter is the state:
 *
 *   r<fence> <run> <end of the lease> <token>   running
 *   f<fence> <run>                              failed
 *   p<lineage> <fence>                          parked
 *   d<lineage>                                  done; the fence is no longer needed
 *
 * Times are milliseconds of the server's clock. ARGV: token, leaseMs, retainMs, lineage (in `claim`: takeParked), to.
 * Trailing arguments that a script does not use may be omitted. Each command receives its key as `KEYS[…]`, because the
 * clusters of some cloud providers reject a variable there.
 */
const read = `
local token, leaseMs, retainMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lineage, to = ARGV[4], ARGV[5]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call('GET', KEYS[1])
local state = record and record:sub(1, 1)
local fence, run, leaseEndsAt, owner, parkedBy = 0, 0, 0, nil, nil
if state == 'r' then
  fence, run, leaseEndsAt, owner = record:match('^r(%d+) (%d+) (%d+) (.*)$')
elseif state == 'f' then
  fence, run = record:match('^f(%d+) (%d+)$')
elseif state == 'p' then
  parkedBy, fence = record:match('^p(.*) (%d+)$')
end
fence, run, leaseEndsAt = tonumber(fence), tonumber(run), tonumber(leaseEndsAt)
if not (fence and run and leaseEndsAt) or state and not state:find('[rfpd]') then
  return redis.error_reply('The value of this key is not a record of svc-webhooks.')
end

local function running(by, ...)
  -- Appended, because %s ends at a NUL.
  local value = string.format('r%d %d %d ', fence, run, now + leaseMs) .. by
  redis.call('SET', KEYS[1], value, ...)
end
`;

const bare = (source: string): Script => ({
  source,
  sha1: createHash("sha1").update(source).digest("hex"),
});

const script = (body: string): Script => bare(`${read}${body}`);

/**
 * Claims the record. Returns `c<fence> <run>`, followed by ` t` if the lease of the previous run ended without a
 * result; `b<milliseconds left>` while another claim holds a live lease; `d<lineage>` if the record is done; or
 * `p<lineage>` if it is parked and `takeParked` is not set.
 */
export const claim: Script = script(`
local takeParked = ARGV[4]
local takenOver = ''
if state == 'd' then return record end
if parkedBy and takeParked ~= '1' then return 'p' .. parkedBy end
if state == 'r' and now < leaseEndsAt then
  -- Otherwise a clock that was set back would keep a dead claim alive.
  if leaseEndsAt > now + leaseMs then
    leaseEndsAt = now + leaseMs
    running(owner, 'KEEPTTL')
  end
  if owner ~= token then return string.format('b%d', leaseEndsAt - now) end
else
  fence, run = math.max(fence + 1, now), run + 1
  running(token, 'PX', retainMs)
  if state == 'r' then takenOver = ' t' end
end
return string.format('c%d %d', fence, run) .. takenOver
`);

/** Marks the record as done, and returns a `CompleteResult`. */
export const complete: Script = script(`
if state == 'd' then
  redis.call('PEXPIRE', KEYS[1], retainMs)
  return 'already'
end
redis.call('SET', KEYS[1], 'd' .. lineage, 'PX', retainMs)
if not state then return 'restored' end
return owner == token and 'owner' or 'late'
`);

/** Releases the record and returns 1, or returns 0 if the token does not own it. */
export const release: Script = script(`
if owner ~= token then return 0 end
if to == 'unused' then run = run - 1 end
local value = to == 'parked' and 'p' .. lineage .. string.format(' %d', fence) or string.format('f%d %d', fence, run)
redis.call('SET', KEYS[1], value, 'PX', retainMs)
return 1
`);

/** Extends the lease and returns 1, or returns 0 if the token does not own the record. */
export const extend: Script = script(`
if owner ~= token then return 0 end
running(token, 'PX', math.max(redis.call('PTTL', KEYS[1]), leaseMs))
return 1
`);

/** Deletes the record and returns 1, or returns 0 if there is none or its lease is live. */
export const forget: Script = script(`
if not state or state == 'r' and now < leaseEndsAt then return 0 end
return redis.call('DEL', KEYS[1])
`);

/**
 * Returns one letter per key: the state of its record, where a run whose lease has ended counts as failed (`f`), or `-`
 * if there is no record. Returns an error if a value is not a record. Changes nothing.
 */
export const peek: Script = bare(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local states = {}
for index = 1, #KEYS do
  local record = redis.call('GET', KEYS[index])
  local state = not record and '-' or record:match('^(f)%d+ %d+$') or record:match('^(p).* %d+$') or record:match('^(d)')
  local leaseEndsAt = record and record:match('^r%d+ %d+ (%d+) ')
  if leaseEndsAt then state = now < tonumber(leaseEndsAt) and 'r' or 'f' end
  if not state then
    return redis.error_reply('The value of key ' .. index .. ' of this call is not a record of svc-webhooks.')
  end
  states[index] = state
end
return table.concat(states)
`);

/**
 * Deletes the key. Returns the server's time in epoch milliseconds, a space, and the error if the deletion was
 * rejected.
 */
export const probe: Script = bare(`
local time = redis.call('TIME')
local written = redis.pcall('DEL', KEYS[1])
local now = string.format('%d ', time[1] * 1000 + math.floor(time[2] / 1000))
return now .. (type(written) == 'table' and written.err or '')
`);

/**
 * Returns an error handler for a call of a script by its hash. If the server does not have the script, the handler
 * sends it in full. It passes any other error to `leaveReplica`.
 */
export const ifUnknown =
  (sendInFull: () => Promise<unknown>, leaveReplica: (error: unknown) => never) =>
  (error: unknown): Promise<unknown> =>
    messageOf(error).startsWith("NOSCRIPT") ? sendInFull() : leaveReplica(error);
