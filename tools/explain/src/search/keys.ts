import type { SecretKey } from "@svc-webhooks/core";
import { fromBase64, fromHex, toBinary, utf8, type Bytes } from "./bytes.js";
import type { MistakeId } from "../mistakes.js";

/** A key that buggy code may have used, and the mistakes that lead to it. */
export interface KeyVariant {
  readonly ids: readonly MistakeId[];
  readonly key: Bytes;
}

/** Returns the secrets themselves as keys, each with these mistakes. */
export const exactKeys = (
  keys: readonly SecretKey[],
  ids: readonly MistakeId[],
): readonly KeyVariant[] =>
  keys.map((key) => ({ ids, key: typeof key === "string" ? utf8(key) : new Uint8Array(key) }));

/** Returns the secrets of other endpoints as keys, and the keys that buggy code may derive from them. */
export const otherKeys = (others: readonly SecretKey[]): readonly KeyVariant[] => [
  ...exactKeys(others, ["other_secret"]),
  ...others.flatMap((key) => spoilt(key, ["other_secret"])),
];

/**
 * Returns the keys that buggy code may have derived from these secrets or used instead of them, without duplicates. The
 * current secrets come first, with no mistakes.
 */
export function keyVariants(
  current: readonly SecretKey[],
  previous: readonly SecretKey[],
): readonly KeyVariant[] {
  const all = [
    ...exactKeys(current, []),
    ...exactKeys(previous, ["old_secret"]),
    ...current.flatMap((key) => spoilt(key, [])),
    ...previous.flatMap((key) => spoilt(key, ["old_secret"])),
    ...["", "undefined", "null", "None"].map((text) => ({
      ids: ["secret_missing" as const],
      key: utf8(text),
    })),
  ];
  const seen = new Set<string>();
  return all.filter(({ key }) => {
    const text = toBinary(key);
    return !seen.has(text) && seen.add(text);
  });
}

function spoilt(secret: SecretKey, already: readonly MistakeId[]): readonly KeyVariant[] {
  if (typeof secret !== "string") return [];
  const stripped = secret.replace(/^whsec_/, "");
  const isHex = /^(?:[0-9a-f]{2})+$/i.test(stripped);
  const keys: readonly (readonly [MistakeId, readonly (string | Bytes)[]])[] = [
    ["secret_prefix_stripped", [stripped]],
    ["secret_base64_decoded", [fromBase64(stripped), fromBase64(secret)]],
    ["secret_hex_decoded", isHex ? [fromHex(stripped)] : []],
    ["secret_quoted", ['"', "'", "`"].map((quote) => quote + secret + quote)],
    [
      "secret_space",
      [
        `${secret}\n`,
        `${secret}\r\n`,
        `${secret} `,
        ` ${secret}`,
        ` ${secret} `,
        `${secret}\r`,
        `${secret}\t`,
      ],
    ],
  ];
  return keys.flatMap(([id, variants]) =>
    variants.map((key) => ({
      ids: [...already, id],
      key: typeof key === "string" ? utf8(key) : key,
    })),
  );
}
