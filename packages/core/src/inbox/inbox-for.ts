import { ReceiverConfigError } from "../errors.js";
import type { AnyEvent } from "../events.js";
import type { Handler } from "../handler.js";
import { enqueueKey, type StoreInQueue } from "../setup/queued-handler.js";
import type { DeadlineCall } from "../store.js";
import { jobOf, type InboxJob } from "./job.js";

/** Marks handlers that run from a queue. */
export interface Inbox {
  /**
   * Returns a handler: `receive` stores the delivery in the queue and ends as `enqueued`, and a worker runs `handler`.
   *
   * @throws ReceiverConfigError `invalid_handler` if `handler` is not a function
   */
  <Event>(handler: Handler<unknown extends Event ? AnyEvent : Event>): Handler<Event>;
  <Event>(handler: Handler<Event>): Handler<Event>;
  /** Returns a handler that only stores, for a process without workers. A run ends as `handler_failed`. */
  (): Handler<unknown>;
}

/** The second parameter of `Enqueue`. */
export interface EnqueueCall extends DeadlineCall {
  /** The event as it was sent. Its schema runs in the worker. */
  readonly event: AnyEvent;
}

/**
 * Stores a job durably. Resolve only when no crash can lose it any more. If the queue has a job with this key already,
 * change nothing, unless that job is dead: make it run again. Reject to respond with 503; a number `retryAfterMs` of
 * the error becomes `Retry-After`. `call.signal` is aborted after `handlerTimeoutMs`; a job that is stored nevertheless
 * does no harm, because a copy with its key is stored once.
 */
export type Enqueue = (job: InboxJob, call: EnqueueCall) => Promise<unknown>;

/**
 * Connects a queue to receivers: returns the function that marks the handlers which run from it. The queue's worker
 * passes each job to `runJob`.
 *
 * @example
 * ```ts
 * import { createReceiver } from "@svc-webhooks/core";
 * import { inboxFor, type InboxJob } from "@svc-webhooks/core/inbox";
 *
 * const jobs = new Map<string, InboxJob>();
 * const inbox = inboxFor(async (job) => void jobs.set(job.key, job));
 *
 * export const receiver = createReceiver({
 *   secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: {
 *     "email.sent": () => {},
 *     "email.delivered": inbox((event) => console.log(event.type)),
 *   },
 * });
 * ```
 */
export function inboxFor(enqueue: Enqueue): Inbox {
  const store: StoreInQueue = (event, context, call) =>
    enqueue(jobOf(context), {
      event,
      // A signal is created on first use.
      get signal() {
        return call.signal;
      },
    });
  return (...given: readonly Handler<never>[]) => {
    // A handler that is undefined is a mistake, such as a misspelled import.
    const handler = given.length === 0 ? runsElsewhere : given[0];
    if (typeof handler !== "function") {
      throw new ReceiverConfigError(
        "invalid_handler",
        "inbox",
        "`inbox` needs a function, such as inbox((event) => ...), or nothing in a process that only stores.",
      );
    }
    const run: Handler<unknown> = (event, context) => (handler as Handler<unknown>)(event, context);
    return Object.assign(run, { [enqueueKey]: store });
  };
}

const runsElsewhere: Handler<unknown> = () => {
  throw new Error("This process only stores deliveries: its handler was built with inbox().");
};
