import type { Claim } from "../claim/store-call.js";
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
import { isPromise } from "../lib/maybe-promise.js";
import { neverThrows } from "../lib/never-throws.js";
import { retryLaterMs } from "../lib/times.js";
import type { ResumeOptions } from "../options.js";
import type { Answer, DeliveryFacts, Outcome, Warning } from "../outcome.js";
import type { DeliveryReport, Stage, StageTimes } from "../report.js";
import type { Config } from "../setup/config.js";
import type { MaybePromise } from "../store.js";
import { endWith, type Ending } from "./ending.js";
import type { PendingWork, Work } from "./pending-work.js";

/** The state of one delivery. Each stage reads the fields of earlier stages and sets its own. */
export class DeliveryState {
  /** The facts for the outcome, the report and the handler. The stages add to them. */
  readonly context: Context & Facts;

  // Set by `admit` or `restore`.
  header!: HeaderLookup;
  bytes!: Uint8Array;
  /**
   * The scheme's claim from the headers, which `verify` checks; for the service, the 64 hex digits of the signature.
   * Undefined for a resumed delivery.
   */
  signature: unknown;

  // Set by `decode`.
  body!: SignedBody;
  /** The body, with the event's type in `type`. */
  event!: AnyEvent;
  /** The parts of the response that the scheme replaces. */
  reply: Partial<Answer> | undefined;

  // Set by `route`.
  handler!: Handler<unknown>;

  // Set by `claim`.
  claim!: Claim;

  readonly config: Config;
  readonly delivery: Delivery;
  /** Whether `resume` runs this delivery: it was verified before, and no sender waits for it. */
  readonly isResumed: boolean;
  readonly #pending: PendingWork;
  /** The options of `receive` or `resume`. */
  readonly options: ResumeOptions | undefined;
  // The context shares this list. Handlers can replace the context's reference, but not this one.
  readonly #warnings: Warning[];
  readonly #work: Work;
  readonly #times: StageTimes = {};
  readonly #startedAt: number;
  #lapAt: number;

  constructor(
    config: Config,
    delivery: Delivery,
    pending: PendingWork,
    isResumed: boolean,
    options: ResumeOptions | undefined,
  ) {
    this.config = config;
    this.delivery = delivery;
    this.isResumed = isResumed;
    this.#work = { parts: 0, isResumed };
    this.#pending = pending;
    this.options = options;
    this.#startedAt = this.#lapAt = config.observe ? config.clock.monotonic() : 0;
    this.context = new Context(this);
    this.#warnings = this.context.warnings;
  }

  /**
   * Returns an ending while `maxConcurrent` other deliveries are pending, unless `resume` runs this one. The
   * `Retry-After` of the ending is random, which spreads the senders' retries.
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
  failed(error: unknown): void {
    neverThrows(() => this.options?.onError?.(error), this.config.onInternalError)();
  }

  /** Registers asynchronous work that may outlive the response, so that `drain` and the platform wait for it. */
  track(work: MaybePromise<unknown>): void {
    if (!isPromise(work)) return;
    const pending = this.#pending;
    const part = this.#work;
    pending.begin(part);
    // The callback holds no reference to the delivery. Otherwise, the retries of a store call would keep the delivery
    // in memory for up to one lease.
    const ended = () => pending.end(part);
    work.then(ended, ended);
    this.keepAlive(work);
  }

  /** Passes work to the platform's `waitUntil`. `drain` does not wait for it. */
  keepAlive(work: Promise<unknown>): void {
    neverThrows(() => this.options?.waitUntil?.(work), this.config.onInternalError)();
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
    if (!this.config.observe) return;
    const now = this.config.clock.monotonic();
    this.#times[`${stage}Ms`] = (this.#times[`${stage}Ms`] ?? 0) + now - this.#lapAt;
    this.#lapAt = now;
  }

  /**
   * Returns the outcome, after logging it and reporting it to `observe`. In the phase `answered`, also ends the
   * response's part of the pending work.
   */
  end(phase: DeliveryReport["phase"], ending: Ending): Outcome {
    const { config, context } = this;
    const receiver = config.name;
    const { code, status, retryAfterMs, hint } = ending;
    const reply = status === 200 && this.reply && { reply: this.reply };
    const warnings = [...this.#warnings];
    // Spreading copies the context's own fields, which are the facts, and leaves its getters behind. The cast is
    // needed because TypeScript cannot see that a code and its own status belong together.
    // oxlint-disable-next-line typescript/no-misused-spread
    const outcome = { ...context, warnings, code, status, retryAfterMs, ...reply } as Outcome;
    config.log.outcome(code, hint, context);
    if (config.observe) {
      const totalMs = config.clock.monotonic() - this.#startedAt;
      config.observe({ phase, receiver, ...outcome, ...this.#times, totalMs });
    }
    if (phase === "answered" && this.#work.parts > 0) this.#pending.end(this.#work);
    return outcome;
  }
}

/** The state up to `verify`, without the fields that later stages set. */
export type UndecodedDelivery = Omit<DeliveryState, "body" | "event" | "handler" | "claim">;

/** The state in `decode`, without the fields that later stages set. */
export type UnroutedDelivery = Omit<DeliveryState, "handler" | "claim">;

/** The state in `route`, without the claim that a later stage sets. */
export type UnclaimedDelivery = Omit<DeliveryState, "claim">;

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
