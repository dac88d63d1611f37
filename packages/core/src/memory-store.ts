import { systemClock, type Clock } from "./clock.js";
import { assertNoRest, assertRange } from "./lib/assert.js";
import type { DeliveryStore } from "./store.js";

export interface MemoryStoreOptions {
  /** How many records are kept at most, 1 … 10,000,000. Default 100,000. Errors: `invalid_option`. */
  readonly maxRecords?: number | undefined;
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

type State = "running" | "done" | "failed" | "parked";

/** Whose a record is, and what its next owner has to know; let go when it is done. */
interface Claim {
  readonly fence: number;
  run: number;
  /** While it runs. */
  token: string | undefined;
  leaseEndsAt: number;
}

/** A record, and its place in the ring of its state. A ring starts and ends at a head; the oldest comes first. */
class DeliveryRecord {
  previous: DeliveryRecord = this;
  next: DeliveryRecord = this;
  state: State = "failed";
  claim: Claim | undefined = undefined;
  lineage: string | undefined = undefined;
  /** Whole milliseconds: V8 keeps small integers in the record, and an object for every other number. */
  expiresAt = 0;
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

function unlink({ previous, next }: DeliveryRecord): void {
  previous.next = next;
  next.previous = previous;
}

/**
 * Records in this process's memory: gone with it, unseen by others. For development, tests, and
 * single processes that may run an event twice after a restart.
 *
 * Bounded by `maxRecords`: beyond it the oldest record goes, done before failed before parked before
 * running with a dead lease. When all are running, claims throw and the receiver answers 503.
 *
 * @throws ReceiverConfigError `invalid_option`, `unknown_option`
 */
export function memoryStore(options: MemoryStoreOptions = {}): DeliveryStore {
  const { maxRecords = 100_000, clock = systemClock, ...rest } = options;
  assertNoRest(rest);
  assertRange({ maxRecords }, 1, 10_000_000);

  const records = new Map<string, DeliveryRecord>();
  // Their order is kept in rings: removing the first key of a Map walks over all removed before (26 µs at capacity).
  const head = () => new DeliveryRecord("");
  // In the order of eviction: what goes first costs a second run only if it is attempted again.
  const heads = { done: head(), failed: head(), parked: head(), running: head() };
  const rings = Object.values(heads);
  // Of the current call; each is synchronous.
  let now = 0;
  let evictedEarly = false;

  const drop = (record: DeliveryRecord) => {
    unlink(record);
    return records.delete(record.key);
  };

  const find = (key: string) => {
    now = clock.monotonic();
    evictedEarly = false;
    const record = records.get(key);
    if (!record || now < record.expiresAt) return record;
    drop(record);
    return undefined;
  };

  const leased = (claim?: Claim): claim is Claim =>
    claim?.token !== undefined && now < claim.leaseEndsAt;

  /** The oldest running record stands for all: receivers that share a store should share `leaseMs`. */
  const insert = (key: string) => {
    let victim: DeliveryRecord | undefined;
    for (const ring of rings) {
      const { next } = ring;
      if (next === ring) continue;
      // Up to four go for each one that comes, so expired records cannot pile up.
      if (next.expiresAt <= now) drop(next);
      else if (!leased(next.claim)) victim ??= next;
    }
    if (records.size >= maxRecords) {
      if (!victim) throw new Error("every record is running");
      evictedEarly = drop(victim);
    }
    const record = new DeliveryRecord(key);
    records.set(key, record);
    return record;
  };

  /** Makes the record the youngest of its state. */
  const file = (record: DeliveryRecord, state: State, expiresAt: number, claim?: Claim) => {
    record.state = state;
    record.claim = claim;
    record.expiresAt = Math.floor(expiresAt);
    unlink(record);
    const next = (record.next = heads[state]);
    const previous = (record.previous = next.previous);
    previous.next = next.previous = record;
  };

  return {
    shared: false,

    claim(key, { token, leaseMs, retainMs, lineage, takeParked }) {
      const record = find(key) ?? insert(key);
      const { state } = record;
      if (state === "done" || (state === "parked" && !takeParked)) {
        return { status: state, lineage: record.lineage };
      }
      let { claim } = record;
      if (!leased(claim)) {
        const { fence = 0, run = 0 } = claim ?? {};
        claim = {
          fence: Math.max(fence + 1, Math.floor(clock.now())),
          run: state === "parked" ? 1 : run + 1,
          token,
          leaseEndsAt: now + leaseMs,
        };
        record.lineage = lineage;
        file(record, "running", now + retainMs, claim);
      }
      // A clock that was set back would keep a dead claim alive.
      claim.leaseEndsAt = Math.min(claim.leaseEndsAt, now + leaseMs);
      return claim.token === token
        ? { status: "claimed", fence: claim.fence, run: claim.run, evictedEarly }
        : { status: "busy", leaseLeftMs: claim.leaseEndsAt - now };
    },

    complete(key, { token, retainMs, lineage }) {
      const known = find(key);
      const record = known ?? insert(key);
      const { state, claim } = record;
      if (state !== "done") record.lineage = lineage;
      file(record, "done", now + retainMs);
      if (!known) return "restored";
      return claim?.token === token ? "owner" : state === "done" ? "already" : "late";
    },

    release(key, { token, retainMs, to }) {
      const record = find(key);
      if (record?.claim?.token !== token) return false;
      const { claim } = record;
      if (to === "unused") claim.run -= 1;
      claim.token = undefined;
      file(record, to === "parked" ? to : "failed", now + retainMs, claim);
      return true;
    },

    extend(key, { token, leaseMs }) {
      const record = find(key);
      if (record?.claim?.token !== token) return false;
      const { claim, expiresAt } = record;
      claim.leaseEndsAt = now + leaseMs;
      file(record, "running", Math.max(expiresAt, claim.leaseEndsAt), claim);
      return true;
    },

    forget(key) {
      const record = find(key);
      return record !== undefined && !leased(record.claim) && drop(record);
    },
  };
}
