import { checkNoRest, checkRange } from "./check.js";
import { systemClock, type Clock } from "./clock.js";
import type { DeliveryStore } from "./store.js";

export interface MemoryStoreOptions {
  /** How many records are kept at most, 1 … 10,000,000. Default 100,000. Errors: `invalid_option`. */
  readonly maxRecords?: number | undefined;
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

type State = "running" | "done" | "failed" | "parked";

/** A record, and its place in the ring of its state. A ring starts and ends at a head; the oldest comes first. */
class DeliveryRecord {
  previous: DeliveryRecord = this;
  next: DeliveryRecord = this;
  state: State = "failed";
  /** Whose claim it is, while it runs. */
  token: string | undefined = undefined;
  lineage: string | undefined = undefined;
  leaseEndsAt = 0;
  expiresAt = Infinity;
  fence = 0;
  run = 0;
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
  checkNoRest(rest);
  checkRange({ maxRecords }, 1, 10_000_000);

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

  const leased = ({ leaseEndsAt }: DeliveryRecord) => now < leaseEndsAt;

  /** The oldest running record stands for all: receivers that share a store should share `leaseMs`. */
  const insert = (key: string) => {
    let victim: DeliveryRecord | undefined;
    for (const ring of rings) {
      const { next } = ring;
      // Up to four go for each one that comes, so expired records cannot pile up.
      if (next.expiresAt <= now) drop(next);
      else if (next !== ring && !leased(next)) victim ??= next;
    }
    if (records.size >= maxRecords) {
      if (!victim) throw new Error("every record is running");
      evictedEarly = drop(victim);
    }
    const record = new DeliveryRecord(key);
    records.set(key, record);
    return record;
  };

  /** Makes the record the youngest of its state. Only running ones have an owner and a lease. */
  const file = (
    record: DeliveryRecord,
    state: State,
    keepMs: number,
    token?: string,
    leaseMs = 0,
  ) => {
    record.state = state;
    record.token = token;
    record.leaseEndsAt = now + leaseMs;
    record.expiresAt = now + keepMs;
    unlink(record);
    const next = (record.next = heads[state]);
    const previous = (record.previous = next.previous);
    previous.next = next.previous = record;
  };

  return {
    shared: false,

    claim(key, { token, leaseMs, retainMs, lineage }) {
      const record = find(key) ?? insert(key);
      const { state, leaseEndsAt } = record;
      if (state === "done" || state === "parked") return { status: state, lineage: record.lineage };
      if (!leased(record)) {
        record.lineage = lineage;
        record.run += 1;
        record.fence = Math.max(record.fence + 1, Math.floor(clock.now()));
        file(record, "running", retainMs, token, leaseMs);
      }
      return record.token === token
        ? { status: "claimed", fence: record.fence, run: record.run, evictedEarly }
        : { status: "busy", leaseLeftMs: leaseEndsAt - now };
    },

    complete(key, { token, retainMs, lineage }) {
      const known = find(key);
      const record = known ?? insert(key);
      const { state, token: owner } = record;
      if (state !== "done") record.lineage = lineage;
      file(record, "done", retainMs);
      if (!known) return "restored";
      return owner === token ? "owner" : state === "done" ? "already" : "late";
    },

    release(key, { token, retainMs, to }) {
      const record = find(key);
      if (record?.token !== token) return false;
      if (to === "unused") record.run -= 1;
      file(record, to === "parked" ? to : "failed", retainMs);
      return true;
    },

    extend(key, { token, leaseMs }) {
      const record = find(key);
      if (record?.token !== token) return false;
      file(record, "running", Math.max(record.expiresAt - now, leaseMs), token, leaseMs);
      return true;
    },

    forget(key) {
      const record = find(key);
      return record !== undefined && !leased(record) && drop(record);
    },
  };
}
