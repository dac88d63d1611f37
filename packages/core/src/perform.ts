import { PermanentError } from "./errors.js";
import type { DeliveryContext } from "./handler.js";
import { isPromise, type MaybePromise } from "./promise.js";
import type { StandardSchemaResult } from "./standard-schema.js";
import type { Visit } from "./visit.js";

/** What a schema has against an event. */
export class InvalidEvent extends Error {}

/** What a run does: the schema of the event's type, then its handler. Throws what keeps it from being done. */
export function perform(visit: Visit, context: DeliveryContext): MaybePromise<unknown> {
  const { maxRuns, events } = visit.config;
  if ((context.run ?? 0) > maxRuns) throw new PermanentError(`given up after ${maxRuns} runs`);
  const schema = events.get(visit.event.type);

  const start = (event: unknown) => {
    // A slow schema or a frozen process may have outlasted it, and then another receiver may be running the event.
    visit.checkLease();
    const isOurs = visit.claim.held || context.dedupe === "unverified";
    if (!isOurs) throw new Error("the lease ended before the handler started");
    // A handler is a function, not a method: it gets no `this`.
    const { handler } = visit;
    const result = handler(event, context);
    // The body of a generator never runs unless somebody iterates over what it returns.
    if (typeof (result as Partial<Iterator<unknown>> | null | undefined)?.next === "function") {
      throw new TypeError(
        "the handler returned an iterator: it must not be a generator (function*)",
      );
    }
    return result;
  };
  if (!schema) return start(visit.event);

  const handle = (result: StandardSchemaResult<unknown>) => {
    if (!result.issues) return start(result.value);
    const issues = result.issues.map(({ message, path = [] }) => {
      const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
      return `${keys.join(".")}: ${message}`;
    });
    throw new InvalidEvent(issues.join("; "));
  };
  const result = schema["~standard"].validate(visit.event);
  return isPromise(result) ? result.then(handle) : handle(result);
}
