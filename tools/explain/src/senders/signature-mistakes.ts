import { explain } from "../explain.js";
import { textOf, utf8 } from "../search/bytes.js";
import { changedBody, exactBytes } from "./body-mistakes.js";
import { hmacClaimOf, isMadeWith } from "./hmac-claim.js";
import { keyOf, keysOf } from "./key.js";
import type { Look } from "./mistake.js";

/** Returns the member `token` of the JSON object in a body, or undefined. */
function tokenIn(body: Uint8Array): unknown {
  try {
    return (Object(JSON.parse(textOf(body))) as { readonly token?: unknown }).token;
  } catch {
    return undefined;
  }
}

/** Finds Slack's verification token, which each body contains, in place of the signing secret. */
const verificationToken: Look = async ({ scheme, arrived, secret }) => {
  if (scheme.name !== "slack" || tokenIn(arrived.body) !== secret) return undefined;
  return {
    id: "verification_token",
    cause:
      "The secret is Slack's verification token, which Slack sends in request bodies and does not use for signing.",
    fix: "Use the app's signing secret, which is under Basic Information, App Credentials.",
  };
};

/** Finds a signature whose key is the text of the secret, although the scheme decodes that text. */
const notDecoded: Look = async ({ scheme, arrived, secret }) => {
  const claim = hmacClaimOf(scheme, arrived);
  if (!claim || typeof keyOf(scheme, secret) === "string") return undefined;
  for (const text of [secret, secret.replace(/^whsec_/, "")]) {
    if (await isMadeWith(utf8(text), claim, arrived)) {
      return {
        id: "secret_not_decoded",
        cause:
          "The text of the secret was used as the key, but this scheme decodes the secret first.",
        fix: "If the sender is Polar, use `polar()`, which accepts both keys of a secret. If another sender signs with the text, pass the receiver the bytes of the text. If your own code signs, decode the text after `whsec_` from base64, and use the resulting bytes as the key.",
      };
    }
  }
  return undefined;
};

/** Finds a signature of the body alone, without the text that must precede it. */
const bodyAlone: Look = async ({ scheme, arrived, secret }) => {
  const claim = hmacClaimOf(scheme, arrived);
  if (!claim || claim.before === "") return undefined;
  const signed = keysOf(scheme, secret).map((key) =>
    isMadeWith(key, { ...claim, before: "" }, arrived),
  );
  return (await Promise.all(signed)).includes(true)
    ? {
        id: "body_alone",
        cause: "Only the body was signed, without the text that must precede it.",
        fix: `Sign \`${claim.before}\` immediately followed by the body, as a single message.`,
      }
    : undefined;
};

/** Finds a mistake that `explain` knows: in the key, the hash or the bytes of the body. */
const searched: Look = async ({ scheme, arrived, secret, previousSecrets, quick }) => {
  const claim = hmacClaimOf(scheme, arrived);
  // A quick search tries two signatures only, because senders list at most two while a secret is rotated.
  for (const signature of claim?.signatures.slice(0, quick ? 2 : undefined) ?? []) {
    const { mistake, body_difference } = await explain({
      body: arrived.body,
      before: claim?.before,
      signature: `sha256=${signature}`,
      secrets: keysOf(scheme, secret),
      previousSecrets: previousSecrets.flatMap((previous) => keysOf(scheme, previous)),
      quick,
    });
    if (!mistake) continue;
    if (!body_difference) return mistake;
    return {
      id: mistake.id,
      cause: `The signature was made from different bytes. ${mistake.cause}`,
      fix: exactBytes,
      body_difference,
    };
  }
  return undefined;
};

/** The mistakes that make a well-formed signature wrong. */
export const mismatched: readonly Look[] = [
  verificationToken,
  notDecoded,
  bodyAlone,
  searched,
  changedBody,
];
