import { systemClock, type Clock } from "./clock.js";
import { isWhole } from "./lib/is-whole.js";
import { hasMethods, readOptions, type Complete, type OptionTable } from "./setup/table.js";
import type { DeliveryStore, RecordState } from "./store.js";

/** The options of {@link memoryStore}. An unknown option causes the error `unknown_option`. */
export interface MemoryStoreOptions {
  /** The maximum number of records, 1 … 10,000,000. Default 100,000. Errors: `invalid_option`. */
  readonly maxRecords?: number | undefined;
  /** The time source, for tests. Default: the system's clock. Errors: `invalid_option`. */
  readonly clock?: Clock | undefined;
}

const optionTable: OptionTable<Complete<MemoryStoreOptions>> = {
  maxRecords: () => [100_000, isWhole, 1, 10_000_000],
  clock: () => [systemClock, hasMethods("after")],
};

/** A record's last owner, and the counters that the next owner continues from. Cleared when the record is done. */
interface Owner {
  readonly fence: number;
  run: number;
  /** The claim's token, set while the record is running. */
  token: string | undefined;
  leaseEndsAt: number;
}

/**
 * A record, linked into the ring of its state. A ring starts and ends at its head, with the oldest record first. The
 * order of a Map is not used, because finding its first key walks over all keys removed before it (26 µs at
 * capacity).
 */
class DeliveryRecord {
  previous: DeliveryRecord = this;
  next: DeliveryRecord = this;
  state: RecordState;
  owner: Owner | undefined = undefined;
  lineage: string | undefined = undefined;
  /**
   * The end of retention in whole milliseconds: V8 stores a small integer in the record itself and allocates an
   * object for any other number.
   */
  expiresAt = 0;
  readonly key: string;

  constructor(key: string, state: RecordState = "failed") {
    this.key = key;
    this.state = state;
  }
}

function unlink({ previous, next }: DeliveryRecord): void {
  previous.next = next;
  next.previous = previous;
}

/** Makes the record the newest of a ring, and gives it the ring's state. */
function moveTo(
  head: DeliveryRecord,
  record: DeliveryRecord,
  expiresAt: number,
  owner?: Owner,
): void {
  record.state = head.state;
  record.owner = owner;
  record.expiresAt = Math.floor(expiresAt);
  unlink(record);
  const { previous } = head;
  record.next = head;
  record.previous = previous;
  previous.next = head.previous = record;
}

const isLeased = (owner: Owner | undefined, now: number): owner is Owner =>
  owner?.token !== undefined && now < owner.leaseEndsAt;

/** Returns the state that `peek` reports. Changes nothing: an expired record stays until another call removes it. */
function stateOf(record: DeliveryRecord | undefined, now: number): RecordState | undefined {
  if (!record || now >= record.expiresAt) return undefined;
  const { state, owner } = record;
  return state === "running" && !isLeased(owner, now) ? "failed" : state;
}

/**
 * Returns the heads of empty rings, in the order of eviction. `done` is first, because evicting such a record causes a
 * second run only if the event is delivered again.
 */
function createHeads(): Readonly<Record<RecordState, DeliveryRecord>> {
  const states: readonly RecordState[] = ["done", "failed", "parked", "running"];
  return Object.fromEntries(
    states.map((state) => [state, new DeliveryRecord("", state)]),
  ) as Readonly<Record<RecordState, DeliveryRecord>>;
}

/**
 * Removes the oldest record of each ring if it has expired, and returns the record to evict next, if any. Of the
 * running records, only the oldest is checked for a dead lease: its lease ends first, provided that all receivers of
 * the store have the same `leaseMs`.
 */
function evictable(
  rings: readonly DeliveryRecord[],
  now: number,
  remove: (record: DeliveryRecord) => void,
): DeliveryRecord | undefined {
  let record: DeliveryRecord | undefined;
  for (const ring of rings) {
    const { next } = ring;
    if (next === ring) continue;
    if (next.expiresAt <= now) remove(next);
    else if (!isLeased(next.owner, now)) record ??= next;
  }
  return record;
}

/**
 * Keeps records in the memory of this process. A restart clears them, and no other process can read them. Use it for
 * development, for tests, or for a single process whose events may be handled twice after a restart.
 *
 * When `maxRecords` is reached, a new record evicts the oldest one that is done, else failed, else parked, else running
 * with a dead lease. If every record has a live lease, `claim` throws, and the response is 503 unless `onStoreError` is
 * `"process"`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver, memoryStore } from "svc-webhooks";
 *
 * export const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   store: memoryStore({ maxRecords: 10_000 }),
 *   on: { "*": (event) => console.log(event.type) },
 * });
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): DeliveryStore {
  const { maxRecords, clock } = readOptions(options, optionTable);
  const records = new Map<string, DeliveryRecord>();
  const heads = createHeads();
  const rings = Object.values(heads);
  // All calls can share these variables, because each call that reads them is synchronous and sets them first.
  let [now, evictedEarly] = [0, false];

  const remove = (record: DeliveryRecord) => {
    unlink(record);
    return records.delete(record.key);
  };

  const find = (key: string) => {
    now = clock.monotonic();
    evictedEarly = false;
    const record = records.get(key);
    if (!record || now < record.expiresAt) return record;
    remove(record);
    return undefined;
  };

  const insert = (key: string) => {
    // Each insertion removes up to four expired records, so they cannot accumulate.
    const evicted = evictable(rings, now, remove);
    if (records.size >= maxRecords) {
      if (!evicted) throw new Error("every record is running");
      evictedEarly = remove(evicted);
    }
    const record = new DeliveryRecord(key);
    records.set(key, record);
    return record;
  };

  return {
    shared: false,

    claim(key, { token, leaseMs, retainMs, lineage, takeParked }) {
      const record = find(key) ?? insert(key);
      const { state } = record;
      if (state === "done" || (state === "parked" && !takeParked)) {
        return { status: state, lineage: record.lineage };
      }
      let { owner } = record;
      const takenOver = state === "running" && !isLeased(owner, now);
      if (!isLeased(owner, now)) {
        const { fence = 0, run = 0 } = owner ?? {};
        owner = {
          fence: Math.max(fence + 1, Math.floor(clock.now())),
          run: state === "parked" ? 1 : run + 1,
          token,
          leaseEndsAt: now + leaseMs,
        };
        record.lineage = lineage;
        moveTo(heads.running, record, now + retainMs, owner);
      }
      // Limits the lease to `leaseMs` from now, as the rules of `DeliveryStore.claim` require.
      owner.leaseEndsAt = Math.min(owner.leaseEndsAt, now + leaseMs);
      return owner.token === token
        ? { status: "claimed", fence: owner.fence, run: owner.run, takenOver, evictedEarly }
        : { status: "busy", leaseLeftMs: owner.leaseEndsAt - now };
    },

    complete(key, { token, retainMs, lineage }) {
      const known = find(key);
      const record = known ?? insert(key);
      const { state, owner } = record;
      if (state !== "done") record.lineage = lineage;
      moveTo(heads.done, record, now + retainMs);
      if (!known) return "restored";
      return owner?.token === token ? "owner" : state === "done" ? "already" : "late";
    },

    release(key, { token, retainMs, to }) {
      const record = find(key);
      if (record?.owner?.token !== token) return false;
      const { owner } = record;
      if (to === "unused") owner.run -= 1;
      owner.token = undefined;
      moveTo(heads[to === "parked" ? to : "failed"], record, now + retainMs, owner);
      return true;
    },

    extend(key, { token, leaseMs }) {
      const record = find(key);
      if (record?.owner?.token !== token) return false;
      const { owner, expiresAt } = record;
      owner.leaseEndsAt = now + leaseMs;
      moveTo(heads.running, record, Math.max(expiresAt, owner.leaseEndsAt), owner);
      return true;
    },

    forget(key) {
      const record = find(key);
      return record !== undefined && !isLeased(record.owner, now) && remove(record);
    },

    peek: (keys) => keys.map((key) => stateOf(records.get(key), clock.monotonic())),
  };
}
