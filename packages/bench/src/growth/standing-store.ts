import { createReceiver, memoryStore, type Clock, type DeliveryStore } from "@svc-webhooks/core";
import { copiesOf } from "../copies.js";
import { eventType, secret } from "../deliveries.js";

/** A memory store that keeps its size, however many deliveries come. */
export interface StandingStore {
  readonly store: DeliveryStore;
  /** Lets so many come, which are done at once. */
  readonly deliver: (count: number) => unknown;
}

const week = 7 * 24 * 60 * 60_000;
const call = { signal: new AbortController().signal };

/** The ways in which stores in use keep their size. */
export const standingStores = {
  /** Nothing but the table that any store needs, and a ring that tells which key is the oldest. */
  "a Map alone at capacity"(size: number): Pick<StandingStore, "deliver"> {
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
    return { deliver };
  },
  /** Time is a millisecond per delivery, and records are kept for `size` of them: each that comes finds one expired. */
  "memoryStore below capacity": (size: number) => standing(size, 10_000_000, size),
  /** Each that comes evicts the oldest. */
  "memoryStore at capacity": (size: number) => standing(size, size, week),
  /** The same, with all that a receiver does besides. */
  async "memoryStore at capacity, with receive()"(size: number): Promise<StandingStore> {
    const { store } = standing(size, size, week);
    const { receive } = createReceiver({ secret, store, on: { [eventType]: () => {} } });
    const next = await copiesOf(1_024);
    const deliver = async (count: number) => {
      for (let n = 0; n < count; n++) await receive({ method: "POST", ...next() });
    };
    return { store, deliver };
  },
};

export type StandingKind = keyof typeof standingStores;

const zeros = "0".repeat(51);

/** 32 digits, cut from 64 as a receiver cuts its keys: the heap keeps all 64. */
export const keyOf = (delivery: number): string => `${1e12 + delivery}${zeros}`.slice(0, 32);

function standing(size: number, maxRecords: number, retainMs: number): StandingStore {
  let count = 0;
  const startedAt = Date.now();
  // Epoch milliseconds and fractions, as real clocks have them: they take more room than small integers.
  const clock: Clock = {
    now: () => startedAt + count,
    monotonic: () => count + 0.25,
    after: () => () => {},
  };
  const store = memoryStore({ clock, maxRecords });
  const request = { token: "", leaseMs: 1, retainMs };
  const deliver = (more: number) => {
    for (const end = count + more; count < end;) {
      count += 1;
      const key = keyOf(count);
      // Both answer at once.
      void store.claim(key, request, call);
      void store.complete(key, request, call);
    }
  };
  // More than stay, because a Map that loses entries as it gains others has a table twice as big.
  deliver(size + size / 10);
  return { store, deliver };
}
