import { jsonIn } from "../lib/json-in.js";

/**
 * Returns a changed body, as if the service had sent another one. Adds the member `"mutated": true` to a JSON object,
 * and a line break to any other body.
 */
export function mutated(body: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(body);
  const members = membersOf(text);
  if (members === undefined) return new Uint8Array([...body, 0x0a]);
  const end = text.lastIndexOf("}");
  const comma = members === 0 ? "" : ", ";
  return new TextEncoder().encode(`${text.slice(0, end)}${comma}"mutated": true${text.slice(end)}`);
}

/** Returns the number of members of a JSON object, or undefined if the text is something else. */
function membersOf(text: string): number | undefined {
  const parsed = jsonIn(text);
  return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)
    ? Object.keys(parsed).length
    : undefined;
}
