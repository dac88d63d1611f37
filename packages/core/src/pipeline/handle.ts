import { PermanentError } from "../handler-errors.js";
import type { DeliveryContext } from "../handler.js";
import { andThen } from "../lib/maybe-promise.js";
import type { CommonOptions } from "../options.js";
import type { StandardSchemaV1 } from "../standard-schema.js";
import type { MaybePromise } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { surround } from "./surround.js";

/** Thrown if a schema rejects an event. The message lists the issues. */
export class InvalidEvent extends Error {}

/**
 * Runs the schema of the event's type, then the handler, which `around` wraps. Throws a `PermanentError` without
 * running either if `maxRuns` is exceeded or `giveUp` is set, and an `InvalidEvent` if the schema rejects the event.
 */
export function handle(state: DeliveryState): MaybePromise<unknown> {
  const { maxRuns, events } = state.config;
  if ((state.context.run ?? 0) > maxRuns) {
    throw new PermanentError(`given up after ${maxRuns} runs`);
  }
  const { giveUp } = state.options ?? {};
  if (giveUp !== undefined) throw new PermanentError(giveUp);
  const schema = events.get(state.event.type);
  return schema ? validate(state, schema) : begin(state, state.event);
}

/** Returns the handler's context. The cast is safe, because the earlier stages have set all facts of a run. */
export const contextOf = (state: DeliveryState): DeliveryContext =>
  state.context as unknown as DeliveryContext;

function validate(state: DeliveryState, schema: StandardSchemaV1): MaybePromise<unknown> {
  return andThen(schema["~standard"].validate(state.event), (result) => {
    if (!result.issues) return begin(state, result.value);
    const issues = result.issues.map(({ message, path = [] }) => {
      const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
      return `${keys.join(".")}: ${message}`;
    });
    throw new InvalidEvent(issues.join("; "));
  });
}

const begin = (state: DeliveryState, event: unknown): MaybePromise<unknown> =>
  state.config.around ? beginAround(state, event, state.config.around) : call(state, event);

const beginAround = (
  state: DeliveryState,
  event: unknown,
  around: NonNullable<CommonOptions["around"]>,
) =>
  surround(
    () => call(state, event),
    (run) => around(run, contextOf(state)),
  );

function call(state: DeliveryState, event: unknown): unknown {
  // The lease may have ended during a slow schema or while the process was frozen. Another receiver may then run the
  // event, so this run must not start the handler.
  state.checkLease();
  const mayStart = state.claim.held || state.context.dedupe === "unverified";
  if (!mayStart) throw new Error("the lease ended before the handler started");
  // The handler is called as a function, not as a method of the state, so that `this` is undefined.
  const { handler } = state;
  return handler(event, contextOf(state));
}
