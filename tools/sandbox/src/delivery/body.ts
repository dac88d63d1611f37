import type { EventFacts, Settings } from "../assumptions/table.js";

/** Serializes the body of a delivery. It is called once for each delivery, so that all attempts send the same bytes. */
export function eventBytes(
  event: EventFacts,
  shape: Settings["event.body"],
  spacing: Settings["event.bytes"],
): Uint8Array {
  const compact = JSON.stringify(shape(event)) ?? "null";
  return new TextEncoder().encode(spacing === "spaced" ? spaced(compact) : compact);
}

/** Adds a space after each comma and colon that is not in a string. */
const spaced = (json: string) =>
  json.replace(/"(?:[^"\\]|\\.)*"|[,:]/g, (token) => (token.length === 1 ? `${token} ` : token));
