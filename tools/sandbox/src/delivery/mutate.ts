import { jsonIn } from "../lib/json-in.js";

/**
 * Returns different bytes, as if the service had sent another body: a JSON object with an added member
 * `"mutated": true`, or anything else with an added line break.
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
