import { createHash, createHmac } from "node:crypto";
import type { Mistake } from "@svc-webhooks/explain";
import { jsonIn } from "../lib/json-in.js";

type Bytes = string | Uint8Array;

/**
 * Signs a message, and returns the signature in the service's form. The key may be one that a receiver would refuse.
 */
const signedWith = (key: Bytes, message: Bytes): string =>
  `sha256=${createHmac("sha256", key).update(message).digest("hex")}`;

/** The kind of a mistake: the body was parsed or altered, the key is wrong, or the signature has another form. */
export type GuessKind = "parsed" | "altered" | "key" | "form";

/** The signature that a mistaken receiver computes for a body, and therefore accepts. */
export interface Guess {
  readonly kind: GuessKind;
  readonly signature: string;
  /** The mistake, if it is known without a search by `explain`. */
  readonly mistake?: Mistake;
}

/** Returns the values that a mistaken receiver may verify in place of the raw body, with the kind of each mistake. */
export function bodyVariants(body: Uint8Array): readonly (readonly [GuessKind, Bytes])[] {
  const text = new TextDecoder().decode(body);
  const latin1 = Buffer.from(body).toString("latin1");
  const value = jsonIn(text);
  const json = JSON.stringify(value) ?? "";
  const spaced = JSON.stringify(value, null, 1)?.replaceAll(/(,?)\n */g, (_, comma) =>
    comma === "" ? "" : ", ",
  );
  const bodies: readonly (readonly [GuessKind, readonly (Bytes | undefined)[]])[] = [
    ["parsed", [json, spaced, JSON.stringify(value, null, 2), "{}", "[object Object]"]],
    ["parsed", ["", "undefined", JSON.stringify(text)]],
    ["altered", [text.trim(), text.replaceAll("\r\n", "\n"), text.replaceAll("\r\n", "\n").trim()]],
    ["altered", [`${text}\n`, latin1, Buffer.from(text, "latin1"), `\uFEFF${text}`]],
  ];
  return bodies.flatMap(([kind, variants]) =>
    variants.flatMap((variant) => (variant === undefined ? [] : [[kind, variant] as const])),
  );
}

/**
 * Returns the signatures that a mistaken receiver for the service may expect: those computed with another key, and
 * those computed or written in another way.
 */
export function keyGuesses(
  body: Uint8Array,
  secret: string,
  previous: readonly string[],
): readonly Guess[] {
  const stripped = secret.replace(/^whsec_/, "");
  const keys = [
    ...previous,
    stripped,
    Buffer.from(stripped, "base64"),
    Buffer.from(secret, "base64"),
    `"${secret}"`,
    `'${secret}'`,
    `${secret}\n`,
    `${secret} `,
    "",
    "undefined",
    "null",
  ];
  const digest = (hash: string, encoding: "hex" | "base64") =>
    createHmac(hash, secret).update(body).digest(encoding);
  const [right, hash] = [digest("sha256", "hex"), createHash("sha256").update(body).digest("hex")];
  const forms = [
    right,
    `sha256=${right.toUpperCase()}`,
    `SHA256=${right.toUpperCase()}`,
    signedWith(body, secret),
    `sha256=${hash}`,
    hash,
    `sha256=${digest("sha256", "base64")}`,
    digest("sha256", "base64"),
    `sha256=${digest("sha1", "hex")}`,
    `sha1=${digest("sha1", "hex")}`,
    `sha256=${digest("sha512", "hex")}`,
    `sha512=${digest("sha512", "hex")}`,
  ];
  return [
    ...keys.map((key) => ({ kind: "key" as const, signature: signedWith(key, body) })),
    ...forms.map((signature) => ({ kind: "form" as const, signature })),
  ];
}
