import { systemClock, type AnyEvent, type Clock, type Receiver } from "@svc-webhooks/core";
import { concurrencyOf, engineOptions } from "@svc-webhooks/core/engine";
import {
  defineInbox,
  type Inbox,
  type InboxAdmin,
  type InboxEntry,
  type RetryDelays,
  type RetryOptions,
  type Verdict,
} from "@svc-webhooks/core/inbox";
import { adminOf } from "./memory-admin.js";
import { MemoryQueue, type MemoryJobOptions } from "./memory-queue.js";
import { perform, startWorker, type MemoryWorker } from "./memory-worker.js";

/** The options of `memoryInbox`. */
export interface MemoryInboxOptions {
  /** The clock for the pauses between attempts and the ages of jobs. Pass the receiver's clock. Default: real time. */
  readonly clock?: Clock | undefined;
  /**
   * Returns the key of an event, 1 to 500 characters, or undefined. Events with the same key run one at a time, in the
   * order in which they were stored. Events without a key are independent. Default: all events are independent.
   */
  readonly partitionBy?: ((event: AnyEvent) => string | undefined) | undefined;
  /**
   * With `partitionBy`: whether later events of a key run after a dead letter (`"continue"`), or wait until the dead
   * letter is done or discarded (`"hold"`). Default `"continue"`. Errors: `invalid_option`.
   */
  readonly afterDead?: "continue" | "hold" | undefined;
  /**
   * The number of attempts at an event, and the pauses between them. The pauses double from `firstMs` to `mostMs`,
   * without random variation. Errors: `invalid_option`, `unknown_option`.
   */
  readonly retry?: RetryOptions | undefined;
}

/** An inbox in memory, for tests. */
export interface MemoryInbox extends Inbox {
  /**
   * Stores a job with these data, as the inbox's handlers do, or as another application that writes to the queue might.
   * A job whose data no inbox created becomes a dead letter when it is run. If a job with the same id exists, nothing
   * changes, except that a dead letter becomes ready again.
   */
  readonly add: (data: object, options?: MemoryJobOptions) => Promise<void>;
  /** Returns all jobs that are not done, oldest first. This includes dead letters. */
  readonly jobs: () => readonly InboxEntry[];
  /**
   * Runs the jobs that can run now, one after another, until no job can, and resolves to their verdicts. A job that
   * waits for its next attempt can run only after `clock` has reached the time of that attempt.
   */
  readonly run: (receiver: Pick<Receiver, "resume">) => Promise<readonly Verdict[]>;
  /**
   * Starts a worker that runs jobs as soon as they can run, up to `concurrency` at a time, 1 … 1,000. Default 16.
   *
   * @throws ConfigError `unknown_option`, `invalid_option` (as a rejection)
   */
  readonly work: (
    receiver: Pick<Receiver, "resume">,
    options?: { readonly concurrency?: number | undefined },
  ) => Promise<MemoryWorker>;
  /** The functions for operators. The id of a job is its key, unless `add` set another id or its data has no key. */
  readonly admin: InboxAdmin;
}

/**
 * Creates an inbox in memory, for tests of handlers that run from a queue. Never use it in production: if the process
 * ends, its jobs are lost, although the sender received a 200 response for them.
 *
 * @throws ConfigError `unknown_option`, `invalid_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver, memoryStore } from "svc-webhooks";
 * import { fakeClock, fixture, signedDelivery } from "@svc-webhooks/testing";
 * import { memoryInbox } from "@svc-webhooks/testing/inbox";
 *
 * const clock = fakeClock();
 * const inbox = memoryInbox({ clock });
 * let isDown = true;
 * const receiver = createReceiver({
 *   secret: "whsec_test",
 *   clock,
 *   store: memoryStore({ clock }),
 *   on: {
 *     "email.sent": inbox(() => {
 *       if (isDown) throw new Error("the mail server is down");
 *     }),
 *   },
 *   logger: { info() {}, warn() {}, error() {} },
 * });
 *
 * const delivery = await signedDelivery(fixture("email.sent"));
 * assert.equal((await receiver.receive(delivery)).code, "enqueued");
 * assert.equal((await inbox.run(receiver))[0]?.action, "retry");
 *
 * isDown = false;
 * await clock.advance(1_000);
 * assert.deepEqual(await inbox.run(receiver), [{ action: "done", code: "processed" }]);
 * assert.deepEqual(inbox.jobs(), []);
 * ```
 */
export function memoryInbox(options: MemoryInboxOptions = {}): MemoryInbox {
  const resolved = engineOptions(options, ["clock", "partitionBy", "afterDead", "retry"]);
  const { partitionBy, holds } = resolved;
  const { clock = systemClock } = options;
  const queue = new MemoryQueue({
    clock,
    partitionBy,
    holds,
    retry: withoutJitter(resolved.retry),
  });
  const add: MemoryInbox["add"] = async (data, adding = {}) => queue.add(data, adding);
  const methods: Pick<MemoryInbox, keyof MemoryInbox> = {
    add,
    jobs: () => queue.entries(),
    async run(receiver) {
      const verdicts: Verdict[] = [];
      for (let run = queue.take(); run; run = queue.take()) {
        verdicts.push(await perform(queue, run, receiver));
      }
      return verdicts;
    },
    work: async (receiver, workOptions) => startWorker(queue, receiver, concurrencyOf(workOptions)),
    admin: adminOf(queue),
  };
  return Object.assign(
    defineInbox((job, { event }) => add(job, { event })),
    methods,
  );
}

/** Removes the random part of the pauses, because tests move a clock by the exact pauses. */
const withoutJitter = (retry: RetryDelays): RetryDelays => ({
  ...retry,
  delayMs: (attempt) => Math.min(retry.firstMs * 2 ** (attempt - 1), retry.mostMs),
});
