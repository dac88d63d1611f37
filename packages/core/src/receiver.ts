import type { Delivery, ForgetTarget, StoredDelivery } from "./delivery.js";
import type { EventSchemas, HandlerKey } from "./events.js";
import type {
  DedupeBy,
  InferredOptions,
  NeedsEventId,
  ReceiveOptions,
  ReceiverOptions,
  ResumeOptions,
} from "./options.js";
import { answer, type Outcome } from "./outcome.js";
import { admit } from "./pipeline/admit.js";
import { claim } from "./pipeline/claim.js";
import { decode } from "./pipeline/decode.js";
import { DeliveryState, type PipelineStage } from "./pipeline/delivery-state.js";
import { drive } from "./pipeline/drive.js";
import { forget } from "./operators/forget.js";
import { peek } from "./operators/peek.js";
import { trackWork, type DrainOptions } from "./pipeline/pending-work.js";
import { restore } from "./pipeline/restore.js";
import { route } from "./pipeline/route.js";
import { run, runWithin } from "./pipeline/run.js";
import { verify } from "./pipeline/verify.js";
import { resolveOptions, type Config } from "./setup/config.js";
import type { MaybePromise, RecordState } from "./store.js";
import { toDelivery, toResponse } from "./web.js";

/** The platform's support for work that outlives the response (Workers, Vercel). */
export interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
}

/**
 * Receives deliveries: verifies them with its own secrets, runs its own handlers, and keeps records under its name in
 * the store. Its methods do not depend on `this`.
 */
export interface Receiver {
  /** Receives one delivery. Never throws and never rejects: every failure is an outcome. */
  readonly receive: (delivery: Delivery, options?: ReceiveOptions) => Promise<Outcome>;

  /**
   * Receives a web-standard `Request` and resolves to its `Response`, so that `export default receiver` is a server on
   * Workers, Bun and Deno. Never rejects.
   */
  readonly fetch: (
    request: Request,
    env?: unknown,
    executionContext?: Partial<ExecutionContext>,
  ) => Promise<Response>;

  /**
   * For operators: removes the record of a delivery that is not running, so that a later attempt runs the event again.
   * Resolves to false if there is no record or its lease is alive.
   *
   * @throws ConfigError `invalid_option` (as a rejection) if `deliveryId` or `body` does not
   *   identify a record
   * @throws WebhookError `store_timeout` after `storeTimeouts.release`, and the store's error (as rejections)
   */
  readonly forget: (target: ForgetTarget) => Promise<boolean>;

  /**
   * For operators: resolves to the states of the records of these deliveries, in the same order; undefined for a
   * delivery without a record. Changes nothing. Reads up to 1,000 records with each store call, one call after another.
   *
   * @throws ConfigError `invalid_option` (as a rejection) if `targets` is not a list, if a target's
   *   `deliveryId` or `body` does not identify a record, if the store has no `peek`, or if it does not return one state
   *   for each key
   * @throws WebhookError `store_timeout` after `storeTimeouts.release`, and the store's error (as rejections)
   */
  readonly peek: (
    targets: readonly ForgetTarget[],
  ) => Promise<readonly (RecordState | undefined)[]>;

  /**
   * Runs a delivery that was verified earlier and then stored, parked or queued. It is not verified again, so the
   * secret that signed it may have expired. `handlerTimeoutMs` does not apply, because no sender waits. A `parked`
   * record can be claimed too. As with `receive`, the outcome is `duplicate` if the record is done, and `in_flight`
   * while another run holds the lease. Remove the stored delivery only after `processed` or `duplicate`. Never throws
   * and never rejects.
   */
  readonly resume: (delivery: StoredDelivery, options?: ResumeOptions) => Promise<Outcome>;

  /**
   * For shutdown: resolves to the number of verified deliveries that are still pending, as soon as there are none or
   * after `deadlineMs` (0 … 2^31 − 1 milliseconds). Until it resolves, new verified and resumed deliveries end as
   * `draining`; afterwards, the receiver accepts deliveries again, unless `isFinal` is true.
   *
   * @throws ConfigError `invalid_option` (as a rejection) if `deadlineMs` is out of its range
   */
  readonly drain: (options: DrainOptions) => Promise<number>;
}

/**
 * Returns the stages of a delivery, in order. Each one adds to the state or ends the delivery. The seventh stage is
 * `answer()`, which adapters call.
 *
 * @param first the stages that admit the delivery and decide whether its content can be trusted
 */
const stagesFrom = (first: readonly PipelineStage[], runs: PipelineStage["run"]) =>
  [
    ...first,
    { name: "decode", run: decode },
    { name: "route", run: route },
    { name: "claim", run: claim },
    { name: "run", run: runs },
  ] satisfies readonly PipelineStage[];

/** Runs a delivery through its stages. Returns a promise only if it waits for something. */
export type Start = (delivery: Delivery, options?: ReceiveOptions) => MaybePromise<Outcome>;

/**
 * Builds a receiver, an intake or a guard: methods that `methodsOf` creates, and those of an operator.
 *
 * @param first the stages before `decode`. A resumed delivery passed them before it was stored, so `restore` replaces
 *   them
 * @param runs the last stage, which decides whether the response has a time limit. A resumed delivery has none, because
 *   no sender waits for it
 */
export function assemble<Methods>(
  config: Config,
  first: readonly PipelineStage[],
  runs: PipelineStage["run"],
  methodsOf: (start: Start) => Methods,
): Methods & Operations {
  const pending = trackWork(config.clock, config.maxConcurrent);
  const stages = stagesFrom(first, runs);
  const later = stagesFrom([{ name: "admit", run: restore }], run);
  return {
    ...methodsOf((delivery, options) =>
      drive(new DeliveryState(config, stages, delivery, pending, false, options)),
    ),
    resume: (delivery, options) =>
      Promise.resolve(drive(new DeliveryState(config, later, delivery, pending, true, options))),
    forget: (target) => forget(config, target),
    peek: (targets) => peek(config, targets),
    drain: pending.drain,
  };
}

/** The methods of a receiver that need no request. */
export type Operations = Pick<Receiver, "forget" | "peek" | "resume" | "drain">;

/**
 * The key of the method of `receive` that adapters may call instead: it returns an outcome without a promise if the
 * delivery waits for nothing. It belongs to the function and not to the receiver, and returns undefined if it is called
 * as a method of anything else, so that a function that wraps `receive`, such as a Proxy, is never bypassed. Registered
 * globally, because an application may load the core both as ESM and as CommonJS.
 */
const directKey = Symbol.for("svc-webhooks.direct");

/**
 * Builds a receiver. It starts no timer, generates no random number, and calls neither your handlers, your `secret`
 * function nor the store, so it is safe at module level on every platform, Workers included.
 *
 * @throws ConfigError with any of its codes; the message names the option and the fix
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 *
 * const receiver = createReceiver({
 *   secret: () => process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: {
 *     "email.sent": (event, { idempotencyKey }) => console.log(event["data"], idempotencyKey),
 *     "*": (event) => console.log(event.type),
 *   },
 * });
 *
 * // A server on Workers, Bun and Deno.
 * export default receiver;
 * ```
 */
export function createReceiver<
  Events extends EventSchemas = {},
  Keys extends HandlerKey<Events> = HandlerKey<Events>,
  Dedupe extends DedupeBy = DedupeBy,
>(
  options: InferredOptions<Events, Keys> & {
    readonly dedupeBy?: Dedupe | undefined;
  } & NeedsEventId<Dedupe>,
): Receiver {
  // `Events` and `Keys` only type the handlers' parameters, so the cast drops them.
  const config = resolveOptions(options as ReceiverOptions<EventSchemas>);
  // Only these stages read a request, and no later stage runs unless its signature is genuine.
  const first: readonly PipelineStage[] = [
    { name: "admit", run: admit },
    { name: "verify", run: verify },
  ];
  return assemble(config, first, runWithin, (start) => {
    const receive: Receiver["receive"] = (delivery, callOptions) =>
      Promise.resolve(start(delivery, callOptions));
    Object.defineProperty(receive, directKey, {
      value(this: unknown, delivery: Delivery, callOptions?: ReceiveOptions) {
        return this === receive ? start(delivery, callOptions) : undefined;
      },
    });
    return {
      receive,
      fetch: async (request: Request, _env: unknown, context?: Partial<ExecutionContext>) =>
        toResponse(request, answer(await receive(toDelivery(request), context))),
    };
  });
}
