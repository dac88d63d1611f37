import type { Claim } from "../claim/store-call.js";
import type { KnownSecret } from "../crypto/keys.js";
import {
  storedHeaders,
  type Delivery,
  type HeaderLookup,
  type SignedBody,
  type StoredDelivery,
} from "../delivery.js";
import type { AnyEvent } from "../events.js";
import type { Handler } from "../handler.js";
import { LazySignal } from "../lib/deadline.js";
import { neverThrows } from "../lib/never-throws.js";
import { retryLaterMs } from "../lib/times.js";
import type { ResumeOptions } from "../options.js";
import type { Answer, DeliveryFacts, Outcome, Warning } from "../outcome.js";
import type { DeliveryReport, Stage, StageTimes } from "../report.js";
import type { Config } from "../setup/config.js";
import { endWith, type Ending, type StepResult } from "./ending.js";
import type { PendingWork, Work } from "./pending-work.js";

/** A stage of the pipeline. */
export interface PipelineStage {
  readonly name: Stage;
  readonly run: (state: DeliveryState) => StepResult;
}

/** The state of one delivery. Each stage reads the fields of earlier stages and sets its own. */
export class DeliveryState {
  /** The facts for the outcome, the report and the handler. The stages add to them. */
  readonly context: Context & Facts;

  // Set by `drive`.
  /** The index of the stage that runs. */
  stageIndex: number = -1;
  /** Called with the outcome, if `drive` returned before the outcome was known. */
  onOutcome: ((outcome: Outcome) => void) | undefined;

  // Set by `respond`.
  /** The outcome of the response, once it is known. */
  outcome: Outcome | undefined;

  // Set by `admit` or `restore`.
  header!: HeaderLookup;
  /** The number of bytes in `Content-Length`; NaN if there is no such header. */
  declaredBytes!: number;
  bytes!: Uint8Array;
  /**
   * The value from the headers that `verify` checks: the claim that the scheme's `inspect` returned or, without a
   * scheme, the 64 hex digits of the signature. Undefined for a resumed delivery.
   */
  signature: unknown;

  // Set by `verify`.
  secrets!: readonly KnownSecret[];

  // Set by `decode`.
  /** The JSON object that the bytes encode, or the body that the scheme replaces it with. */
  parsed: SignedBody | undefined;
  body!: SignedBody;
  /** The body, with the event's type in `type`. */
  event!: AnyEvent;
  /** The parts of the response that the scheme replaces. */
  reply: Partial<Answer> | undefined;

  // Set by `route`.
  handler!: Handler<unknown>;

  // Set by `claim`.
  claim!: Claim;

  // Set by `run`.
  /** When the sender receives its response even if the handler is pending, in monotonic time. */
  timeoutAt: number = Infinity;
  /** Extends the lease while the user's code is pending. */
  lease: { readonly stop: () => void } | undefined;
  /** The ending of the run, while its claim is being completed or released. */
  ending!: Ending;
  /** Set while work is pending that may outlive the response: settles the promise that `waitUntil` has received. */
  #releaseWaitUntil: (() => void) | undefined;

  readonly config: Config;
  readonly stages: readonly PipelineStage[];
  readonly delivery: Delivery;
  /** Whether `resume` runs this delivery: it was verified before, and no sender waits for it. */
  readonly isResumed: boolean;
  readonly #pending: PendingWork;
  /** The options of `receive` or `resume`. */
  readonly options: ResumeOptions | undefined;
  // The context has the same list. A handler can replace the context's reference to it, but not this one.
  readonly #warnings: Warning[];
  readonly #work: Work;
  readonly #times: StageTimes | undefined;
  readonly #startedAt: number;
  #lapAt: number;

  constructor(
    config: Config,
    stages: readonly PipelineStage[],
    delivery: Delivery,
    pending: PendingWork,
    isResumed: boolean,
    options: ResumeOptions | undefined,
  ) {
    this.config = config;
    this.stages = stages;
    this.delivery = delivery;
    this.isResumed = isResumed;
    this.#work = { parts: 0, isResumed };
    this.#pending = pending;
    this.options = options;
    this.#times = config.observe && {};
    this.#startedAt = this.#lapAt = config.observe ? config.clock.monotonic() : 0;
    this.context = new Context(this);
    this.#warnings = this.context.warnings;
  }

  /**
   * Returns the ending `overloaded` while `maxConcurrent` other deliveries are pending, unless `resume` runs this one.
   * The `Retry-After` of the ending is random, which spreads the senders' retries.
   */
  limit(): Ending | undefined {
    return !this.isResumed && this.#pending.isFull()
      ? endWith("overloaded", undefined, retryLaterMs * (1 + Math.random()))
      : undefined;
  }

  /** Counts a verified delivery as pending work, or returns an ending during `drain` or above `maxConcurrent`. */
  accept(): Ending | undefined {
    const ending = this.#pending.isDraining() ? endWith("draining") : this.limit();
    if (!ending) this.#pending.begin(this.#work);
    return ending;
  }

  /** Passes an error of this run to the `onError` of the `resume` call, if it has one. */
  passToOnError(error: unknown): void {
    const { options } = this;
    if (options) neverThrows(() => options.onError?.(error), this.config.onInternalError)();
  }

  /**
   * Makes `drain` and the platform wait until `finish`, even after the response. Must be called before the response is
   * sent, as soon as work may outlive it. Only the first call has an effect.
   */
  outliveResponse(): void {
    if (this.#releaseWaitUntil) return;
    this.#releaseWaitUntil = nothing;
    this.#pending.begin(this.#work);
    // Only `keepAlive` reads `waitUntil`, because a getter may throw.
    if (!this.options) return;
    this.keepAlive(
      new Promise<void>((resolve) => {
        this.#releaseWaitUntil = resolve;
      }),
    );
  }

  /** Registers retries that outlive the run, so that `drain` and the platform wait for them. */
  track(retries: Promise<unknown>): void {
    endAfter(retries, this.#pending, this.#work);
    this.keepAlive(retries);
  }

  /** Passes work to the platform's `waitUntil`. `drain` does not wait for it. */
  keepAlive(work: Promise<unknown>): void {
    const { options } = this;
    if (options) neverThrows(() => options.waitUntil?.(work), this.config.onInternalError)();
  }

  warn(warning: Warning, error?: unknown): void {
    if (!this.#warnings.includes(warning)) this.#warnings.push(warning);
    this.config.log.warning(warning, this.context, error);
  }

  /** Marks the lease as lost if its time has passed. */
  checkLease(): void {
    if (this.config.clock.monotonic() >= this.claim.leaseEndsAt) this.loseLease();
  }

  loseLease(): void {
    if (!this.claim.held) return;
    this.claim.held = false;
    this.warn("lease_lost");
    this.context.abort("lease_lost");
  }

  /** Adds the time since the previous call to the time of this stage. */
  lap(stage: Stage | "enqueue"): void {
    const times = this.#times;
    if (!times) return;
    const now = this.config.clock.monotonic();
    times[`${stage}Ms`] = (times[`${stage}Ms`] ?? 0) + now - this.#lapAt;
    this.#lapAt = now;
  }

  /** Ends the delivery: with its outcome or, if the sender has its response already, with a report only. */
  finish(ending: Ending): void {
    if (this.outcome) this.#end("settled", ending);
    else this.respond(ending);
    const releaseWaitUntil = this.#releaseWaitUntil;
    if (!releaseWaitUntil) return;
    this.#releaseWaitUntil = undefined;
    this.#pending.end(this.#work);
    releaseWaitUntil();
  }

  /** Sets the outcome, from which the sender receives its response. If the run is pending, `finish` ends it later. */
  respond(ending: Ending): void {
    const outcome = (this.outcome = this.#end("answered", ending));
    if (this.#work.parts > 0) this.#pending.end(this.#work);
    this.onOutcome?.(outcome);
  }

  /** Returns the outcome, after logging it and reporting it to `observe`. */
  #end(phase: DeliveryReport["phase"], ending: Ending): Outcome {
    const { config, context } = this;
    const { code, status, retryAfterMs, hint } = ending;
    const warnings = [...this.#warnings];
    // The casts are needed because TypeScript cannot see that a code and its own status belong together.
    let outcome: Outcome;
    if (context.run && context.secretId) {
      // Written out, because a run has established these facts, and V8 spreads an instance of a class slowly.
      outcome = {
        receivedAt: context.receivedAt,
        warnings,
        bodyBytes: context.bodyBytes,
        secretId: context.secretId,
        deliveryId: context.deliveryId,
        type: context.type,
        eventIdSigned: context.eventIdSigned,
        eventId: context.eventId,
        dedupe: context.dedupe,
        run: context.run,
        fence: context.fence,
        code,
        status,
        retryAfterMs,
      } as Outcome;
      // A scheme does not establish these.
      if (!config.scheme) {
        const facts = outcome as Pick<Facts, "subscriptionId" | "attempt">;
        facts.subscriptionId = context.subscriptionId;
        facts.attempt = context.attempt;
      }
    } else {
      // Spreading copies the context's own fields, which are the facts, but not its getters.
      // oxlint-disable-next-line typescript/no-misused-spread
      outcome = { ...context, warnings, code, status, retryAfterMs } as Outcome;
    }
    if (status === 200 && this.reply) (outcome as { reply?: Partial<Answer> }).reply = this.reply;
    config.log.outcome(code, hint, context);
    if (config.observe) {
      const totalMs = config.clock.monotonic() - this.#startedAt;
      config.observe({ phase, receiver: config.name, ...outcome, ...this.#times, totalMs });
    }
    return outcome;
  }
}

const nothing = () => {};

/**
 * Counts work as pending until it settles. The callback holds no reference to the delivery, because the retries of a
 * store call would otherwise keep the delivery in memory for up to one lease.
 */
function endAfter(work: Promise<unknown>, pending: PendingWork, part: Work): void {
  pending.begin(part);
  const ended = () => pending.end(part);
  work.then(ended, ended);
}

/** The facts, writable for the stages. */
export type Facts = { -readonly [Fact in keyof DeliveryFacts]: DeliveryFacts[Fact] } & {
  readonly warnings: Warning[];
};

/**
 * The handler's context: own fields for the facts, which the outcome and the report copy, and getters for the other
 * values, which neither needs.
 */
export class Context extends LazySignal {
  readonly receivedAt: number;
  readonly warnings: Warning[] = [];
  readonly #state: DeliveryState;

  constructor(state: DeliveryState) {
    super();
    this.#state = state;
    this.receivedAt = state.config.clock.now();
  }

  get idempotencyKey(): string {
    return this.#state.claim.key;
  }

  get delivery(): StoredDelivery {
    const { header, bytes, config } = this.#state;
    return { method: "POST", headers: storedHeaders(header, config.scheme?.headers), body: bytes };
  }
}
