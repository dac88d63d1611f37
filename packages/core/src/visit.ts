import type { Config } from "./config.js";
import { Context, type Facts } from "./context.js";
import type { Delivery } from "./delivery.js";
import type { AnyEvent } from "./events.js";
import type { Handler } from "./handler.js";
import type { HeaderLookup } from "./headers.js";
import type { SignedBody } from "./options.js";
import type { Ending, Outcome, Warning } from "./outcome.js";
import type { MaybePromise } from "./promise.js";
import type { DeliveryReport, Stage, StageTimes } from "./report.js";
import { logLine } from "./text.js";

/** One delivery on its way through the stages. Each stage reads what earlier ones wrote, and adds its own. */
export class Visit {
  /** What the outcome, the report and the handler are told. Stages add to it; none decides by it. */
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
  /** Of the record: 32 hex digits. */
  key!: string;
  /** Stands for the delivery id where several of them can share a record. */
  lineage: string | undefined;
  /** Names the claim. */
  token!: string;
  /** In monotonic time, reckoned from when the claim or its extension was sent: it started no earlier. */
  leaseEndsAt!: number;
  /** Whether the run still holds it. */
  leased = false;

  /** How much of it is under way. */
  works = 0;

  readonly config: Config;
  readonly delivery: Delivery;
  /** Registers work that may outlive the answer, if it is not done already. */
  readonly background: (work: MaybePromise<unknown>) => void;
  readonly #times: StageTimes = {};
  readonly #startedAt: number;
  #lapAt: number;

  constructor(config: Config, delivery: Delivery, background: Visit["background"]) {
    this.config = config;
    this.delivery = delivery;
    this.background = background;
    this.#startedAt = this.#lapAt = config.observe ? config.clock.monotonic() : 0;
    this.context = new Context(this);
  }

  warn(warning: Warning): void {
    this.context.warnings.push(warning);
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
    if (hint) config.log(logLine(`${receiver}: ${code}`, context, hint));
    if (config.observe) {
      const totalMs = config.clock.monotonic() - this.#startedAt;
      config.observe({ phase, receiver, ...outcome, ...this.#times, totalMs });
    }
    return outcome;
  }
}
