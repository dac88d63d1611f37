/**
 * Returns the type that a body names: the first non-empty string of `type`, `event_type` and `event`, as in a
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
