/**
 * Returns the event type in a body: the first non-empty string among `type`, `event_type` and `event`, as in a
 * receiver.
 */
export function eventTypeOf(body: Uint8Array): string | undefined {
  try {
    const event = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown> | null;
    return [event?.["type"], event?.["event_type"], event?.["event"]].find(
      (type): type is string => typeof type === "string" && type !== "",
    );
  } catch {
    return undefined;
  }
}
