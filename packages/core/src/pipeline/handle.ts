import { PermanentError } from "../errors.js";
import type { DeliveryContext } from "../handler.js";
import { isPromise } from "../lib/maybe-promise.js";
import type { StandardSchemaResult } from "../standard-schema.js";
import type { MaybePromise } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";

/** What a schema has against an event. */
export class InvalidEvent extends Error {}

/** What a run does: the schema of the event's type, then its handler. Throws what keeps it from being done. */
export function handle(state: DeliveryState, context: DeliveryContext): MaybePromise<unknown> {
  const { maxRuns, events } = state.config;
  if ((context.run ?? 0) > maxRuns) throw new PermanentError(`given up after ${maxRuns} runs`);
  const schema = events.get(state.event.type);

  const start = (event: unknown) => {
    // A slow schema or a frozen process may have outlasted it, and then another receiver may be running the event.
    state.checkLease();
    const isOurs = state.claim.held || context.dedupe === "unverified";
    if (!isOurs) throw new Error("the lease ended before the handler started");
    // A handler is a function, not a method: it gets no `this`.
    const { handler } = state;
    return handler(event, context);
  };
  if (!schema) return start(state.event);

  const onResult = (result: StandardSchemaResult<unknown>) => {
    if (!result.issues) return start(result.value);
    const issues = result.issues.map(({ message, path = [] }) => {
      const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
      return `${keys.join(".")}: ${message}`;
    });
    throw new InvalidEvent(issues.join("; "));
  };
  const result = schema["~standard"].validate(state.event);
  return isPromise(result) ? result.then(onResult) : onResult(result);
}
