import { jsonIn } from "./json-in.js";

/**
 * Returns the event type in a body as a receiver finds it: the first non-empty string among `type`, `event_type` and
 * `event`, or undefined if there is none.
 */
export function eventTypeOf(body: Uint8Array): string | undefined {
  const event = Object(jsonIn(new TextDecoder().decode(body))) as Record<string, unknown>;
  return [event["type"], event["event_type"], event["event"]].find(
    (type): type is string => typeof type === "string" && type !== "",
  );
}
