import type { AnyEvent } from "../events.js";
import type { SignedBody } from "../options.js";
import { endWith, type Ending } from "../outcome.js";
import { isFilled } from "../text.js";
import type { Visit } from "../visit.js";

// Skips one leading BOM and rejects bytes that are not UTF-8 instead of replacing them.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Stage 3: bytes → event. The type comes from the signed body, never from a header. */
export function decode(visit: Visit): Ending | undefined {
  let body: unknown;
  try {
    body = JSON.parse(utf8.decode(visit.bytes));
  } catch {
    // Not UTF-8 or not JSON: the same as JSON that is no object.
  }
  if (!isObject(body)) return endWith("malformed_body");
  const type: unknown = visit.config.eventType(body);
  if (!isFilled(type)) {
    return endWith("event_untyped", "eventType finds no type");
  }
  visit.body = body;
  visit.context.type = type;
  visit.event = body.type === type ? (body as AnyEvent) : { ...body, type };
  return undefined;
}

const isObject = (value: unknown): value is SignedBody =>
  typeof value === "object" && value !== null && !Array.isArray(value);
