import {
  createReceiver,
  PermanentError,
  type DeliveryContext,
  type Receiver,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import type { Inbox, InboxAdmin } from "@svc-webhooks/core/inbox";
import type { PostgresStore } from "@svc-webhooks/postgres";
import { until } from "@svc-webhooks/kit/until";
import type { PoolClient } from "pg";
import { deliveriesOf, eventType, secret } from "../deliveries.js";

type Store = PostgresStore<PoolClient>;

/** The numbers of deliveries and of runs that each contender has in progress at the same time. */
export const inFlight = { accepting: 16, running: 12 };

const nextDelivery = deliveriesOf(1_024);

async function receiving({ receive }: Receiver, code: string): Promise<void> {
  const { headers, body } = nextDelivery();
  const outcome = await receive({ method: "POST", headers: (name) => headers[name], body });
  if (outcome.code !== code) throw new Error(`A new delivery ended as ${outcome.code}.`);
}

const receiverOf = (store: Store, on: ReceiverOptions["on"]): Receiver =>
  createReceiver({ secret, store, name: "bench", on, onParked: () => {}, log: () => {} });

/** Writes the effect of an event in the transaction that completes it. */
const take = (store: Store, context: DeliveryContext): Promise<unknown> =>
  store.transaction(context, (tx) =>
    tx.query("insert into effects (key) values ($1)", [context.idempotencyKey]),
  );

/** Returns a function that receives a new delivery. The handler runs inline, before the delivery is acknowledged. */
export function inline(store: Store): () => Promise<void> {
  const receiver = receiverOf(store, {
    [eventType]: async (_event, context) => void (await take(store, context)),
  });
  return () => receiving(receiver, "processed");
}

/** A receiver that stores deliveries in a queue, and workers that run them. */
export interface Queued {
  /** Stores a new delivery of 1 kB. Rejects unless it was stored. */
  readonly accept: () => Promise<void>;
  /** Stores deliveries, and resolves to the number of them that workers then run per second. */
  readonly runsPerSecond: (jobs: number) => Promise<number>;
  /** Stores a delivery that becomes a dead letter, and then `others` more. Resolves when the first one is dead. */
  readonly poison: (others: number) => Promise<void>;
}

/** Starts workers. Resolves to the function that stops them. */
export type StartWorker = (receiver: Receiver) => Promise<() => Promise<unknown>>;

/** Connects a receiver to the queue of an inbox, and returns functions that use both. */
export function queued(
  store: Store,
  inbox: Inbox & { readonly admin: InboxAdmin },
  start: StartWorker,
): Queued {
  let isPoison = false;
  let firstAt: number | undefined;
  let left = 0;
  let ended: (() => void) | undefined;
  const receiver = receiverOf(store, {
    [eventType]: inbox(async (_event, context) => {
      if (isPoison) throw new PermanentError("This event is poison.");
      firstAt ??= performance.now();
      await take(store, context);
      left -= 1;
      if (left === 0) ended?.();
    }),
  });
  const accept = () => receiving(receiver, "enqueued");
  return {
    accept,
    async runsPerSecond(jobs) {
      for (let sent = 0; sent < jobs; sent += inFlight.accepting) {
        const batch = Math.min(inFlight.accepting, jobs - sent);
        await Promise.all(Array.from({ length: batch }, accept));
      }
      firstAt = undefined;
      left = jobs;
      const all = new Promise<void>((resolve) => (ended = resolve));
      const stop = await start(receiver);
      await all;
      const ms = performance.now() - (firstAt ?? NaN);
      await stop();
      return (jobs / ms) * 1_000;
    },
    async poison(others) {
      for (let sent = 0; sent <= others; sent += 1) await accept();
      isPoison = true;
      const stop = await start(receiver);
      await until(async () => (await inbox.admin.stats()).dead > 0, "the letter is dead");
      await stop();
      isPoison = false;
    },
  };
}
