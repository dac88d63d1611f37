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
  if ((visit.facts.run ?? 0) > maxRuns) throw new PermanentError(`given up after ${maxRuns} runs`);
  const schema = events.get(visit.event.type);
  if (!schema) return visit.handler(visit.event, context);

  const handle = (result: StandardSchemaResult<unknown>) => {
    if (!result.issues) return visit.handler(result.value, context);
    const issues = result.issues.map(({ message, path = [] }) => {
      const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
      return `${keys.join(".")}: ${message}`;
    });
    throw new InvalidEvent(issues.join("; "));
  };
  const result = schema["~standard"].validate(visit.event);
  return isPromise(result) ? result.then(handle) : handle(result);
}
