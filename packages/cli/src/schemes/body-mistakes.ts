import { hmacClaimOf } from "./hmac-claim.js";
import { judge } from "./judge.js";
import type { Look } from "./mistake.js";

/** Returns the bodies that the sender may have signed before a change, each with a description of the change. */
function originalsOf(body: Uint8Array): readonly (readonly [text: string, original: string])[] {
  const text = Buffer.from(body).toString();
  const trimmed = text.trim();
  return [
    ["White space was added at the start or end of the body.", trimmed],
    ["The newline at the end of the body was removed.", `${text}\n`],
    ...jsonOf(trimmed).map((json) => ["The body was parsed and serialized again.", json] as const),
  ];
}

function jsonOf(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    return [undefined, 2, 4].map((indent) => JSON.stringify(value, null, indent));
  } catch {
    return [];
  }
}

/** The body was changed, and the signature is made with a private key, so that only a receiver can compare it. */
export const changedBody: Look = async ({ sender: { scheme }, arrived, secret }) => {
  if (hmacClaimOf(scheme, arrived)) return undefined;
  for (const [text, original] of originalsOf(arrived.body)) {
    const body = Buffer.from(original);
    const { isGenuine } = await judge(scheme, secret, { ...arrived, body });
    if (isGenuine) {
      return {
        id: "body_changed",
        text: `The signature was made from different bytes, because the body was changed after it was signed. ${text}`,
        remedy:
          "Pass the bytes exactly as they arrived, both to the receiver and to this command. No parser, editor or formatter may change them.",
      };
    }
  }
  return undefined;
};
