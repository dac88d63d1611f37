import type { AnyEvent } from "../events.js";
import { isObject } from "../lib/is-object.js";
import { isPromise } from "../lib/maybe-promise.js";
import { isFilled } from "../lib/text.js";
import type { SignedBody } from "../options.js";
import type { UnroutedDelivery } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";

// Skips one leading BOM, and rejects invalid UTF-8 instead of inserting replacement characters.
const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true });

/**
 * Stage 3: decodes the bytes to an event. Its type comes from the signed body, never from a header.
 */
export function decode(state: UnroutedDelivery): Ending | undefined {
  const { config, bytes } = state;
  const body = parseBody(bytes);
  if (!body) return endWith("malformed_body");
  const type = config.eventType(body, bytes);
  if (!isFilled(type)) return endWith("event_untyped", unusable("eventType", type));
  state.body = body;
  state.context.type = type;
  state.event = body.type === type ? (body as AnyEvent) : { ...body, type };
  return undefined;
}

/** Returns the JSON object in `bytes`, or undefined. */
export function parseBody(bytes: Uint8Array): SignedBody | undefined {
  try {
    const body: unknown = JSON.parse(utf8.decode(bytes));
    if (isObject(body) && !Array.isArray(body)) return body as SignedBody;
  } catch {
    // Invalid UTF-8 and invalid JSON have the same result as JSON that is not an object.
  }
  return undefined;
}

/** Returns the hint for a result of `eventType` or `eventId` that cannot be used. */
export function unusable(option: "eventType" | "eventId", value: unknown): string {
  // The promise is never awaited, so its rejection would end the process.
  if (isPromise(value)) value.then(undefined, () => {});
  const found = isPromise(value) ? "a promise" : value === "" ? "empty text" : typeof value;
  return `${option} must return text, but returned ${found}`;
}
