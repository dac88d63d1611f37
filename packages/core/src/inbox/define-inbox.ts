import { assertOptions, assertValid } from "../checks.js";
import { ConfigError } from "../errors.js";
import type { AnyEvent } from "../events.js";
import type { Handler } from "../handler.js";
import { surround } from "../pipeline/surround.js";
import { enqueueKey, type EnqueueContext, type StoreInQueue } from "../setup/queued-handler.js";
import type { DeadlineCall } from "../store.js";
import { jobOf, type InboxJob } from "./job.js";

/** Marks handlers to run from a queue. */
export interface Inbox {
  /**
   * Returns a handler: `receive` stores the delivery in the queue and ends as `enqueued`, and a worker runs `handler`.
   *
   * @throws ConfigError `invalid_handler` if `handler` is not a function
   */
  <Event>(handler: Handler<unknown extends Event ? AnyEvent : Event>): Handler<Event>;
  <Event>(handler: Handler<Event>): Handler<Event>;
  /**
   * Returns a handler that only stores deliveries, for a process without workers. If a worker runs it anyway, the run
   * ends as `handler_failed`.
   */
  (): Handler<unknown>;
  /**
   * Wraps each call that stores a delivery, for telemetry: `telemetry({ inbox })` of `svc-webhooks/otel` sets this
   * function. It must call `store` and return its result. The text that it passes to `store` becomes `InboxJob.trace`.
   * Unless both `store` and `around` succeed, the delivery ends as `queue_unavailable`. Default: none.
   */
  around?: ((store: (trace?: string) => unknown, context: EnqueueContext) => unknown) | undefined;
}

/** The second parameter of `Enqueue`. */
export interface EnqueueCall extends Pick<DeadlineCall, "signal"> {
  /** The event as it was sent. Its schema runs in the worker. */
  readonly event: AnyEvent;
}

/**
 * Stores a job durably. Resolve only once no crash can lose the job. If the queue already has a job with this key,
 * change nothing, unless that job is dead: then make it run again. Reject to respond with 503; if the error's
 * `retryAfterMs` is a number of milliseconds, it becomes `Retry-After`. `call.signal` is aborted after
 * `handlerTimeoutMs`; a job that is stored after that does no harm, because a job with the same key is stored only
 * once.
 */
export type Enqueue = (job: InboxJob, call: EnqueueCall) => Promise<unknown>;

/** The options of `defineInbox`. */
export interface DefineInboxOptions {
  /**
   * The largest body that the queue stores, in bytes. `createReceiver` throws for a receiver that accepts larger
   * bodies: their deliveries would end as `queue_unavailable`, and the sender would retry without success. Default: no
   * limit. Errors: `invalid_option`, from `createReceiver`.
   */
  readonly maxBodyBytes?: number | undefined;
}

/**
 * Connects a queue to receivers: returns the function that marks handlers to run from the queue. The queue's worker
 * passes each job to `runJob`.
 *
 * @throws ConfigError `invalid_option` if `enqueue` is not a function; `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { defineInbox, type InboxJob } from "svc-webhooks/inbox";
 *
 * const jobs = new Map<string, InboxJob>();
 * const inbox = defineInbox(async (job) => void jobs.set(job.key, job));
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
export function defineInbox(enqueue: Enqueue, options: DefineInboxOptions = {}): Inbox {
  assertOptions(options, ["maxBodyBytes"]);
  assertValid(typeof enqueue === "function", "enqueue", "`enqueue` must be a function.");
  const { maxBodyBytes = Infinity } = options;
  const storeJob: StoreInQueue = (event, context, call) => {
    let trace: string | undefined;
    const put = () =>
      enqueue(jobOf(context, trace), {
        event,
        // A getter, because the signal is created when it is first read.
        get signal() {
          return call.signal;
        },
      });
    const { around } = inbox;
    if (!around) return put();
    return surround(put, (run) =>
      around((text) => {
        trace = typeof text === "string" ? text : undefined;
        return run();
      }, context),
    );
  };
  const store = Object.assign(storeJob, {
    check: (receiver: { readonly maxBodyBytes: number }) =>
      assertValid(
        receiver.maxBodyBytes <= maxBodyBytes,
        "maxBodyBytes",
        `The queue of an inbox handler stores bodies of up to ${maxBodyBytes} bytes. Set \`maxBodyBytes\`, which is ${receiver.maxBodyBytes}, to at most this number.`,
      ),
  });
  const inbox: Inbox = (...handlers: readonly Handler<never>[]) => {
    // The number of arguments is checked, because an undefined handler is a mistake, such as a misspelled import.
    const handler = handlers.length === 0 ? runsElsewhere : handlers[0];
    if (typeof handler !== "function") {
      throw new ConfigError(
        "invalid_handler",
        "inbox",
        "`inbox` needs a function, such as inbox((event) => ...), or nothing in a process that only stores.",
      );
    }
    const run: Handler<unknown> = (event, context) => (handler as Handler<unknown>)(event, context);
    return Object.assign(run, { [enqueueKey]: store });
  };
  return inbox;
}

const runsElsewhere: Handler<unknown> = () => {
  throw new Error("This process only stores deliveries: its handler was built with inbox().");
};
