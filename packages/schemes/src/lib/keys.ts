import { ConfigError, type SecretKey } from "@svc-webhooks/core";
import { utf8 } from "./bytes.js";

/**
 * Throws a ConfigError `invalid_secret` unless `ok` is true. `text` continues the sentence that begins with the
 * option's name. It states the cause and the fix, and never contains the key.
 */
export function assertKey(ok: unknown, option: string, text: string): asserts ok {
  if (!ok) throw new ConfigError("invalid_secret", option, `\`${option}\` ${text}`);
}

/**
 * Matches an empty text, the text of a missing value, such as `undefined`, and white space or a quote at either end of
 * a text.
 */
const notText = /^(undefined|null|NaN|\[object \w+\])?$|^[\s"'`]|[\s"'`]$/;

/** Returns whether a value can be a key at all. Excludes lone surrogates, which UTF-8 would replace. */
const isKeyLike = (key: unknown) =>
  typeof key === "string" ? key.isWellFormed() && !notText.test(key) : isBytes(key);

/**
 * Returns the `keyBytes` of a scheme, which decodes a text and returns bytes unchanged.
 *
 * @param decode returns undefined for a text that cannot be a key of this sender
 * @param text the cause and the fix for a value that cannot be a key, as in {@link assertKey}
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
 * Returns the `keyBytes` of a sender whose key is the UTF-8 text of its secret.
 *
 * @param isText whether a text can be a key of this sender
 */
export const textKey = (
  isText: (key: string) => boolean,
  text: string,
): ((key: SecretKey, option: string) => Uint8Array) =>
  keyReader((key) => (isText(key) ? utf8(key) : undefined), text);

// Checks the tag, not the class, because edge runtimes and test environments have several `Uint8Array` classes.
const isBytes = (key: unknown) => Object.prototype.toString.call(key) === "[object Uint8Array]";
