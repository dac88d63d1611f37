import type { Config } from "./config.js";
import type { Context } from "./context.js";
import type { Delivery } from "./delivery.js";
import type { AnyEvent } from "./events.js";
import type { Handler } from "./handler.js";
import type { HeaderLookup } from "./headers.js";
import type { SignedBody } from "./options.js";
import type { DeliveryFacts, Ending, Outcome, Warning } from "./outcome.js";
import type { DeliveryReport, Stage, StageTimes } from "./report.js";
import { logLine } from "./text.js";

interface Facts extends DeliveryFacts {
  readonly warnings: Warning[];
}

/** One delivery on its way through the stages. Each stage reads what earlier ones wrote, and adds its own. */
export class Visit {
  /** What the outcome, the report and the handler's context tell. Stages add to it; none decides by it. */
  readonly facts: { -readonly [Fact in keyof Facts]: Facts[Fact] };

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

  // run
  context!: Context;

  readonly config: Config;
  readonly delivery: Delivery;
  /** Registers work that may outlive the answer. The work never rejects. */
  readonly background: (work: Promise<unknown>) => void;
  readonly #times: StageTimes = {};
  readonly #startedAt: number;
  #lapAt: number;

  constructor(config: Config, delivery: Delivery, background: Visit["background"]) {
    this.config = config;
    this.delivery = delivery;
    this.background = background;
    this.#startedAt = this.#lapAt = config.observe ? config.clock.monotonic() : 0;
    this.facts = { receivedAt: config.clock.now(), warnings: [] };
  }

  warn(warning: Warning): void {
    this.facts.warnings.push(warning);
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
    const { config, facts } = this;
    const receiver = config.name;
    const { code, status, retryAfterMs, hint } = ending;
    const warnings = [...facts.warnings];
    // TypeScript cannot see that a code and its own status belong together.
    const outcome = { ...facts, warnings, code, status, retryAfterMs } as Outcome;
    if (hint) config.log(logLine(`${receiver}: ${code}`, facts, hint));
    if (config.observe) {
      const totalMs = config.clock.monotonic() - this.#startedAt;
      config.observe({ phase, receiver, ...outcome, ...this.#times, totalMs });
    }
    return outcome;
  }
}
