import type { Delivery, ForgetTarget, StoredDelivery } from "./delivery.js";
import type { EventSchemas, HandlerKey } from "./events.js";
import { isPromise } from "./lib/maybe-promise.js";
import { describe } from "./lib/text.js";
import { trackWork } from "./lib/work-tracker.js";
import type { InferredOptions, ReceiveOptions, ReceiverOptions } from "./options.js";
import { answer, type Outcome } from "./outcome.js";
import { admit } from "./pipeline/admit.js";
import { claim } from "./pipeline/claim.js";
import { decode } from "./pipeline/decode.js";
import { DeliveryState } from "./pipeline/delivery-state.js";
import { endWith, type Ending } from "./pipeline/ending.js";
import { forget } from "./pipeline/forget.js";
import { restore } from "./pipeline/restore.js";
import { route } from "./pipeline/route.js";
import { run } from "./pipeline/run.js";
import { verify } from "./pipeline/verify.js";
import type { Stage } from "./report.js";
import { resolveOptions } from "./setup/config.js";
import type { MaybePromise } from "./store.js";
import { toDelivery, toResponse } from "./web.js";

/** What the platform offers for work that outlives the answer (Workers, Vercel). */
export interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
}

/** One trust domain: its secrets, its handlers, its keys in the store. Methods are bound. */
export interface Receiver {
  /** Takes one delivery through the stages. Never throws and never rejects: every failure is an outcome. */
  readonly receive: (delivery: Delivery, options?: ReceiveOptions) => Promise<Outcome>;

  /** The same for web-standard servers: `export default receiver` serves on Workers, Bun and Deno. */
  readonly fetch: (
    request: Request,
    env?: unknown,
    executionContext?: Partial<ExecutionContext>,
  ) => Promise<Response>;

  /**
   * For operators: lets a done or parked delivery run again. False if there is no record or it runs.
   *
   * @throws ReceiverConfigError `invalid_option` (as a rejection) if id or body do not name a record
   * @throws what the store throws, or an Error after `storeTimeouts.release` (as a rejection)
   */
  readonly forget: (target: ForgetTarget) => Promise<boolean>;

  /**
   * Runs a delivery that was verified before and stored since: a parked one, or one from a queue. It is
   * not verified again, so its key may have expired, and `handlerTimeoutMs` does not apply. A `parked`
   * record is taken up again, in one store step; everything else is as in `receive`: `duplicate` where
   * it is done, `in_flight` while another run holds its lease. Remove what you stored only after
   * `processed` or `duplicate`. Never throws and never rejects.
   */
  readonly resume: (delivery: StoredDelivery, options?: ReceiveOptions) => Promise<Outcome>;

  /**
   * For shutdown: resolves when nothing runs any more, or after `deadlineMs` (0 … 2^31 − 1), with the
   * number of verified deliveries that are still pending. Until it resolves, genuine deliveries are
   * refused as `draining`; afterwards the receiver serves again.
   *
   * @throws ReceiverConfigError `invalid_option` (as a rejection)
   */
  readonly drain: (options: { readonly deadlineMs: number }) => Promise<number>;
}

type RunStage = readonly [Stage, (state: DeliveryState) => MaybePromise<Ending | undefined>];

/** The stages in their order. Each adds to the state or ends it; `answer` turns the end into HTTP. */
const stages: readonly RunStage[] = [
  ["admit", admit],
  ["verify", verify],
  ["decode", decode],
  ["route", route],
  ["claim", claim],
  ["run", run],
];

/** A resumed delivery passed the first two stages before it was stored. */
const stagesOf = ({ isResumed }: DeliveryState): readonly RunStage[] =>
  isResumed ? [["admit", restore], ...stages.slice(2)] : stages;

async function runStages(state: DeliveryState): Promise<Outcome> {
  let ending: Ending | undefined;
  try {
    for (const [name, stage] of stagesOf(state)) {
      const result = stage(state);
      ending = isPromise(result) ? await result : result;
      state.lap(name);
      if (ending) break;
    }
  } catch (error) {
    ending = endWith("internal_error", describe(error));
  }
  // The last stage, run, always ends the state.
  return state.end("answered", ending as Ending);
}

/**
 * Builds a receiver. Starts no timer, draws no random number and calls nothing: safe at module level everywhere.
 *
 * @throws ReceiverConfigError every code of it; the text names the option and the fix
 */
export function createReceiver<
  Events extends EventSchemas = {},
  Keys extends HandlerKey<Events> = HandlerKey<Events>,
>(options: InferredOptions<Events, Keys>): Receiver {
  // What types have checked is read as untyped: `Events` and `Keys` are for the handlers' parameters.
  const config = resolveOptions((options ?? {}) as ReceiverOptions<EventSchemas>);
  const pending = trackWork(config.clock);
  const receive: Receiver["receive"] = (delivery, how) =>
    runStages(new DeliveryState(config, delivery, pending, false, how));

  return {
    receive,
    async fetch(request, _env, context) {
      return toResponse(request, answer(await receive(toDelivery(request), context)));
    },
    forget: async (target) => forget(config, target),
    resume: (delivery, how) => runStages(new DeliveryState(config, delivery, pending, true, how)),
    drain: pending.drain,
  };
}
