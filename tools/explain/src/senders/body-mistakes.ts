import { mostIndentation } from "../search/json-texts.js";
import { changedBodyBytes } from "../search/search.js";
import { textOf, utf8 } from "../search/bytes.js";
import { hmacClaimOf } from "./hmac-claim.js";
import { judge } from "./judge.js";
import type { Look } from "./mistake.js";

/** The fix for a body that was changed. */
export const exactBytes =
  "Pass the bytes exactly as they arrived. No parser, editor or formatter may change them.";

/** Returns the bodies that the sender may have signed before a change, each with a description of the change. */
function originalsOf(body: Uint8Array): readonly (readonly [change: string, original: string])[] {
  const text = textOf(body);
  const trimmed = text.trim();
  const lines = text.replaceAll(/\r?\n/g, "\r\n");
  return [
    ["White space was added at the start or end of the body.", trimmed],
    ["The newline at the end of the body was removed.", `${text}\n`],
    ["The newline at the end of the body was removed.", `${trimmed}\r\n`],
    ["The line endings of the body were changed.", lines],
    ["The line endings of the body were changed.", `${lines.trim()}\r\n`],
    ...jsonOf(trimmed).map((json) => ["The body was parsed and serialized again.", json] as const),
  ];
}

/** Estimates how many characters an indentation of one character per level adds to JSON. */
function spacesIn(json: string): number {
  let [spaces, depth] = [0, 0];
  for (const [mark] of json.matchAll(/"(?:[^"\\]+|\\.)*"|[[\]{},]/g)) {
    if (mark.startsWith('"')) continue;
    if (mark === "]" || mark === "}") depth -= 1;
    if (mark === "[" || mark === "{") depth += 1;
    spaces += Math.max(0, depth) + 1;
  }
  return spaces;
}

function jsonOf(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    const compact = JSON.stringify(value);
    const [spaces, most] = [spacesIn(compact), mostIndentation(compact.length)];
    // Adds the form of Twilio SendGrid, which writes each event of a list on a separate line.
    const list = Array.isArray(value) ? value.map((item) => JSON.stringify(item)) : undefined;
    const indents = [2, 4].filter((indent) => indent * spaces <= most);
    return [
      compact,
      ...(list ? [`[${list.join(",\r\n")}]\r\n`] : []),
      ...indents.map((indent) => JSON.stringify(value, null, indent)),
    ];
  } catch {
    return [];
  }
}

/**
 * Finds a change of the body for signatures that only a receiver can check, because they are made with a private key or
 * with a hash other than SHA-256.
 */
export const changedBody: Look = async ({ scheme, arrived, secret, quick }) => {
  if (hmacClaimOf(scheme, arrived) || arrived.body.length > changedBodyBytes(quick))
    return undefined;
  for (const [change, original] of originalsOf(arrived.body)) {
    const body = utf8(original);
    const { isGenuine } = await judge(scheme, secret, { ...arrived, body });
    if (isGenuine) {
      return {
        id: "body_changed",
        cause: `The signature was made from different bytes, because the body was changed after it was signed. ${change}`,
        fix: exactBytes,
      };
    }
  }
  return undefined;
};
