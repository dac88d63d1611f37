import { memoryStore, type Clock } from "@svc-webhooks/core";
import { deliveriesOf } from "../deliveries.js";
import { ours } from "../receivers.js";

type Deliver = (count: number) => void | Promise<void>;

/**
 * Functions that fill a store with `size` records and keep it at that size. Each returns a function that makes `count`
 * deliveries.
 */
export const memoryStores: Readonly<Record<string, (size: number) => Deliver>> = {
  "a Map alone, at capacity": mapAlone,
  "memoryStore, below capacity": (size) => belowCapacity(size).deliver,
  "memoryStore, at capacity": (size) => atCapacity(size).deliver,
  "receive(), memoryStore at capacity"(size) {
    const receive = ours(() => {}, { store: atCapacity(size).store });
    const next = deliveriesOf(1_024);
    return async (count) => {
      for (let n = 0; n < count; n++) await receive(next());
    };
  },
};

const zeros = "0".repeat(51);

/**
 * Returns a key that is cut from a text of 64 characters, as receivers cut keys from hashes. The heap keeps the whole
 * text.
 */
export const keyOf = (delivery: number): string => `${1e12 + delivery}${zeros}`.slice(0, 32);

/** Fills the minimum that any store needs: a table of records, and a ring that finds the oldest key. */
function mapAlone(size: number): Deliver {
  const known = new Map<string, boolean>();
  const ring: string[] = [];
  let count = 0;
  const deliver = (more: number) => {
    for (const end = count + more; count < end;) {
      count += 1;
      const key = keyOf(count);
      const place = count % size;
      if (known.size >= size) known.delete(ring[place] ?? "");
      if (!known.has(key)) known.set((ring[place] = key), false);
      known.set(key, true);
    }
  };
  deliver(size + size / 10);
  return deliver;
}

/**
 * Creates a store that stays below its capacity: the clock advances by one millisecond per delivery, so that one old
 * record expires for each new one.
 */
export const belowCapacity = (size: number) => steady(size, 10_000_000, size);

/** Creates a store at its capacity: each new record evicts the oldest one. */
export const atCapacity = (size: number) => steady(size, size, 7 * 24 * 60 * 60_000);

function steady(size: number, maxRecords: number, retainMs: number) {
  let count = 0;
  const startedAt = Date.now();
  // Returns epoch milliseconds and fractions, as real clocks do, because both need more memory than small integers.
  const clock: Clock = {
    now: () => startedAt + count,
    monotonic: () => count + 0.25,
    after: () => () => {},
  };
  const store = memoryStore({ clock, maxRecords });
  const request = { token: "", leaseMs: 1, retainMs };
  const call = { signal: new AbortController().signal };
  const deliver = (more: number) => {
    for (const end = count + more; count < end;) {
      count += 1;
      const key = keyOf(count);
      // Awaits nothing, because both calls are synchronous.
      void store.claim(key, request, call);
      void store.complete(key, request, call);
    }
  };
  // Makes more than `size` deliveries, because a Map whose entries are deleted while others are added has a table twice
  // as big.
  deliver(size + size / 10);
  return { store, deliver };
}
