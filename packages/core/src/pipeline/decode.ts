import type { AnyEvent } from "../events.js";
import { isPromise } from "../lib/maybe-promise.js";
import { isFilled } from "../lib/text.js";
import type { SignedBody } from "../options.js";
import type { UnroutedDelivery } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";

// Skips one leading BOM and rejects bytes that are not UTF-8 instead of replacing them.
const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true });

/** Stage 3: bytes → event. The type comes from the signed body, never from a header. */
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

/** The JSON object in `bytes`, if there is one. */
export function parseBody(bytes: Uint8Array): SignedBody | undefined {
  try {
    const body: unknown = JSON.parse(utf8.decode(bytes));
    if (typeof body === "object" && body && !Array.isArray(body)) return body as SignedBody;
  } catch {
    // Not UTF-8 or not JSON: the same as JSON that is not an object.
  }
  return undefined;
}

/** Why what `eventType` or `eventId` returned cannot be used. */
export function unusable(option: "eventType" | "eventId", value: unknown): string {
  // It is never awaited; if it rejects, that must not end the process.
  if (isPromise(value)) value.then(undefined, () => {});
  const found = isPromise(value) ? "a promise" : value === "" ? "empty text" : typeof value;
  return `${option} must return text, and returned ${found}`;
}
