import { readOptions } from "./config.js";
import type { Delivery } from "./delivery.js";
import type { EventSchemas, HandlerKey } from "./events.js";
import { forget, type ForgetTarget } from "./forget.js";
import { isolated } from "./isolated.js";
import type { InferredOptions, ReceiverOptions } from "./options.js";
import { endWith, type Ending, type Outcome } from "./outcome.js";
import { admit } from "./pipeline/admit.js";
import { answer } from "./pipeline/answer.js";
import { claim } from "./pipeline/claim.js";
import { decode } from "./pipeline/decode.js";
import { route } from "./pipeline/route.js";
import { run } from "./pipeline/run.js";
import { verify } from "./pipeline/verify.js";
import { isPromise, type MaybePromise } from "./promise.js";
import type { Stage } from "./report.js";
import { describe } from "./text.js";
import { underWayBy, type UnderWay } from "./under-way.js";
import { Visit } from "./visit.js";
import { toDelivery, toResponse } from "./web.js";

/** What the platform offers for work that outlives the answer (Workers, Vercel). */
export interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
}

export interface ReceiveOptions {
  /** Called with the whole run when it is claimed, unless it ends at once, and with what may be left to do for the store after the answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
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
   * For shutdown: resolves when nothing runs any more, or after `deadlineMs` (0 … 2^31 − 1), with the
   * number of deliveries that are still under way. Stop taking requests first.
   *
   * @throws ReceiverConfigError `invalid_option` (as a rejection)
   */
  readonly drain: (options: { readonly deadlineMs: number }) => Promise<number>;
}

/** The stages in their order. Each adds to the visit or ends it; `answer` turns the end into HTTP. */
const stages = Object.entries({ admit, verify, decode, route, claim, run }) as [
  Stage,
  (visit: Visit) => MaybePromise<Ending | undefined>,
][];

async function through(visit: Visit, underWay: UnderWay): Promise<Outcome> {
  let ending: Ending | undefined;
  try {
    for (const [name, stage] of stages) {
      const result = stage(visit);
      ending = isPromise(result) ? await result : result;
      visit.lap(name);
      if (ending) break;
    }
  } catch (error) {
    ending = endWith("internal_error", describe(error));
  }
  // The last stage, run, always ends the visit.
  const outcome = visit.end("answered", ending as Ending);
  underWay.end(visit);
  return outcome;
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
  const config = readOptions((options ?? {}) as ReceiverOptions<EventSchemas>);
  const underWay = underWayBy(config.clock);

  const receive: Receiver["receive"] = (delivery, how) => {
    const visit: Visit = new Visit(config, delivery, (work) => {
      if (!isPromise(work)) return;
      underWay.begin(visit);
      const ended = () => underWay.end(visit);
      work.then(ended, ended);
      isolated(() => how?.waitUntil?.(work), config.onInternalError)();
    });
    underWay.begin(visit);
    return through(visit, underWay);
  };

  return {
    receive,
    async fetch(request, _env, context) {
      return toResponse(request, answer(await receive(toDelivery(request), context)));
    },
    forget: async (target) => forget(config, target),
    drain: underWay.drain,
  };
}
