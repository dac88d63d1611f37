import type { Claim } from "./claim/claim.js";
import type { Config } from "./config.js";
import { Context, type Facts } from "./context.js";
import type { Delivery } from "./delivery.js";
import type { AnyEvent } from "./events.js";
import type { Handler } from "./handler.js";
import type { HeaderLookup } from "./headers.js";
import { isolated } from "./isolated.js";
import type { SignedBody } from "./options.js";
import { endWith, type Ending, type Outcome, type Warning } from "./outcome.js";
import { isPromise, type MaybePromise } from "./promise.js";
import type { ReceiveOptions } from "./receiver.js";
import type { DeliveryReport, Stage, StageTimes } from "./report.js";
import type { PendingWork, Work } from "./under-way.js";

/** One delivery on its way through the stages. Each stage reads what earlier ones wrote, and adds its own. */
export class Visit {
  /** What the outcome, the report and the handler receive. Stages add to it; none decides by it. */
  readonly context: Context & Facts;

  // admit
  header!: HeaderLookup;
  bytes!: Uint8Array;
  /** Well-formed, not yet compared. */
  signature!: string;

  // decode
  body!: SignedBody;
  /** The body with its type in `type`. */
  event!: AnyEvent;

  // route
  handler!: Handler<unknown>;

  // claim
  claim!: Claim;

  readonly config: Config;
  readonly delivery: Delivery;
  /** Verified before, and run now without the limits that a waiting sender sets. */
  readonly isResumed: boolean;
  readonly #pending: PendingWork;
  readonly #options: ReceiveOptions | undefined;
  readonly #work: Work = { parts: 0 };
  readonly #times: StageTimes = {};
  readonly #startedAt: number;
  #lapAt: number;

  constructor(
    config: Config,
    delivery: Delivery,
    pending: PendingWork,
    isResumed: boolean,
    options: ReceiveOptions | undefined,
  ) {
    this.config = config;
    this.delivery = delivery;
    this.isResumed = isResumed;
    this.#pending = pending;
    this.#options = options;
    this.#startedAt = this.#lapAt = config.observe ? config.clock.monotonic() : 0;
    this.context = new Context(this);
  }

  /** Counts the delivery as pending work; one that was not verified is not. A shutdown refuses it. */
  accept(): Ending | undefined {
    if (this.#pending.isDraining()) return endWith("draining");
    this.#pending.begin(this.#work);
    return undefined;
  }

  /** Registers work that may outlive the response; `drain` waits for it. */
  background(work: MaybePromise<unknown>): void {
    if (!isPromise(work)) return;
    const pending = this.#pending;
    const part = this.#work;
    pending.begin(part);
    // Holds nothing of the delivery: it may take a lease longer than the response.
    const ended = () => pending.end(part);
    work.then(ended, ended);
    this.detached(work);
  }

  /** Registers work that nothing depends on: a lease would end it as well. */
  detached(work: Promise<unknown>): void {
    isolated(() => this.#options?.waitUntil?.(work), this.config.onInternalError)();
  }

  warn(warning: Warning): void {
    this.context.warnings.push(warning);
  }

  /** Notices that the lease has ended. */
  checkLease(): void {
    if (this.config.clock.monotonic() >= this.claim.leaseEndsAt) this.loseLease();
  }

  loseLease(): void {
    if (!this.claim.held) return;
    this.claim.held = false;
    this.warn("lease_lost");
    this.context.abort("lease_lost");
  }

  /** Takes the time of a stage. */
  lap(stage: Stage): void {
    if (!this.config.observe) return;
    const now = this.config.clock.monotonic();
    this.#times[`${stage}Ms`] = (this.#times[`${stage}Ms`] ?? 0) + now - this.#lapAt;
    this.#lapAt = now;
  }

  /** The outcome, printed where the operator must act, and observed. */
  end(phase: DeliveryReport["phase"], ending: Ending): Outcome {
    const { config, context } = this;
    const receiver = config.name;
    const { code, status, retryAfterMs, hint } = ending;
    const warnings = [...context.warnings];
    // The context's own fields are the facts; its getters stay behind.
    // TypeScript cannot see that a code and its own status belong together.
    // oxlint-disable-next-line typescript/no-misused-spread
    const outcome = { ...context, warnings, code, status, retryAfterMs } as Outcome;
    if (hint) {
      // Strangers choose what is in the hint of an unverified request: one line for all of a code.
      const key = context.secretId === undefined ? code : `${code} ${hint}`;
      config.printLine(key, `${receiver}: ${code}`, hint, context);
    }
    if (config.observe) {
      const totalMs = config.clock.monotonic() - this.#startedAt;
      config.observe({ phase, receiver, ...outcome, ...this.#times, totalMs });
    }
    if (phase === "answered" && this.#work.parts > 0) this.#pending.end(this.#work);
    return outcome;
  }
}
