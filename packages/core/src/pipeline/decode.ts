import type { AnyEvent } from "../events.js";
import { isObject } from "../lib/is-object.js";
import { isPromise } from "../lib/maybe-promise.js";
import { isFilled } from "../lib/text.js";
import type { SignedBody } from "../delivery.js";
import type { OutcomeCode } from "../outcome.js";
import type { Identified } from "../scheme.js";
import { setDeliveryId } from "./delivery-id.js";
import type { DeliveryState } from "./delivery-state.js";
import { follow } from "./drive.js";
import { endWith, type Ending, type StepResult } from "./ending.js";

// Skips one leading BOM, and rejects invalid UTF-8 instead of inserting replacement characters.
const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true });

/**
 * Stage 3: decodes the bytes to an event. Its type comes from the signed body, unless the sender's scheme reads it from
 * a header. With a scheme, this stage sets the delivery id too.
 */
export function decode(state: DeliveryState): StepResult {
  const { bytes, header, signature, config } = state;
  const body = parseBody(bytes);
  if (!config.scheme) return readEvent(state, body);
  state.parsed = body;
  return follow(
    state,
    config.scheme.identify({ body, bytes, header, claim: signature }),
    identified,
  );
}

type Found = Omit<Identified, "code"> & { readonly code?: OutcomeCode | undefined };

/** Ends or continues a delivery as its scheme has determined. */
export function identified(state: DeliveryState, found: Found): StepResult {
  const { code, hint, deliveryId, body, reply, source } = found;
  state.reply = reply;
  if (source) state.context.source = source;
  if (code) return endWith(code, hint);
  if (body !== undefined) state.parsed = body;
  // A scheme of another package may return a promise as the id, although its type forbids that. `follow` awaits it,
  // because an unhandled rejection would end the process.
  return follow(state, deliveryId, withId);
}

const withId = (state: DeliveryState, id: string | undefined) =>
  (state.parsed && setDeliveryId(state, id)) ?? readEvent(state, state.parsed);

function readEvent(state: DeliveryState, body: SignedBody | undefined): Ending | undefined {
  const { config, bytes, header } = state;
  if (!body) return endWith("malformed_body");
  const type = config.eventType(body, bytes, header);
  if (!isFilled(type)) return endWith("event_untyped", unusable("eventType", type));
  state.body = body;
  state.context.type = type;
  state.event = body.type === type ? (body as AnyEvent) : { ...body, type };
  return undefined;
}

/** Returns the JSON object that `bytes` encode, or undefined if they encode anything else. */
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
  // Nothing awaits this promise, and an unhandled rejection would end the process.
  if (isPromise(value)) value.then(undefined, () => {});
  const kind = isPromise(value) ? "a promise" : value === "" ? "empty text" : typeof value;
  return `${option} must return text, but returned ${kind}`;
}
