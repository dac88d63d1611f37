import { ReceiverConfigError, type SecretKey } from "@svc-webhooks/core";
import { utf8 } from "./bytes.js";

/** Throws unless `ok`. `text` states the cause and the fix in whole sentences, and never contains the key. */
export function assertKey(ok: unknown, option: string, text: string): asserts ok {
  if (!ok) throw new ReceiverConfigError("invalid_secret", option, `\`${option}\` ${text}`);
}

/** Matches no text, the text of a missing value, and white space or a quote around a text. */
const notText = /^(undefined|null|NaN|\[object \w+\])?$|^[\s"'`]|[\s"'`]$/;

/** Returns whether a value can be a key at all. Half of a character would become another one in UTF-8. */
const isKeyLike = (key: unknown) =>
  typeof key === "string" ? key.isWellFormed() && !notText.test(key) : isBytes(key);

/**
 * Returns a `keyBytes`. It decodes texts; bytes are used as they are.
 *
 * @param decode returns undefined for a text that cannot be a key of this sender
 * @param text the cause and the fix for what cannot be a key
 * @param isKey whether bytes can be a key
 */
export const keyReader =
  (
    decode: (key: string) => Uint8Array | undefined,
    text: string,
    isKey: (bytes: Uint8Array) => boolean = () => true,
  ) =>
  (key: SecretKey, option: string): Uint8Array => {
    assertKey(
      isKeyLike(key),
      option,
      "is missing, is not text or bytes, or has a quote, white space or a line break around it. Set its environment variable to the secret alone.",
    );
    const bytes = typeof key === "string" ? decode(key) : key;
    assertKey(bytes && isKey(bytes), option, text);
    return bytes;
  };

/**
 * Returns a `keyBytes` for a sender whose key is the UTF-8 text of its secret.
 *
 * @param isText whether a text can be a key of this sender
 */
export const textKey = (
  isText: (key: string) => boolean,
  text: string,
): ((key: SecretKey, option: string) => Uint8Array) =>
  keyReader((key) => (isText(key) ? utf8(key) : undefined), text);

// Edge runtimes and test environments have several `Uint8Array` classes.
const isBytes = (key: unknown) => Object.prototype.toString.call(key) === "[object Uint8Array]";
