/** The longest text that is searched within an encoding. Longer tokens are replaced as a whole. */
const mostDecoded = 100_000;

const entities = new Map([
  ["commat", "@"],
  ["period", "."],
  ["plus", "+"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
]);

/**
 * Returns a text as a person reads it: without HTML character references, `\u` and `\x` escapes, invisible characters,
 * compatibility forms such as full-width letters, and `(at)` in place of `@`.
 */
export const readable = (text: string): string =>
  text
    .replaceAll(/&#(?:x([\da-f]{1,6})|(\d{1,7}));?|&([a-z]{2,8});/gi, (all, hex, decimal, name) =>
      name === undefined
        ? characterOf(all, Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16))
        : (entities.get(String(name).toLowerCase()) ?? all),
    )
    .replaceAll(
      /(?<!\\)\\{1,64}(?:u([\da-f]{4})|u\{([\da-f]{1,6})\}|x([\da-f]{2}))/gi,
      (all, four, any, two) => characterOf(all, Number.parseInt(String(four ?? any ?? two), 16)),
    )
    .normalize("NFKC")
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/\s{0,3}[[({]\s?at\s?[\])}]\s{0,3}/gi, "@")
    .replaceAll(/\s{0,3}[[({]\s?dot\s?[\])}]\s{0,3}/gi, ".");

const characterOf = (all: string, code: number) =>
  code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : all;

/** Decodes the text in percent-encoding. Returns undefined if it is not well-formed. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Decodes the well-formed parts of a text in percent-encoding, and leaves the rest. */
export const percentDecodedParts = (text: string): string =>
  text.replaceAll(
    /(?:%[\da-f]{2})+/gi,
    (run) =>
      percentDecoded(run) ?? run.replaceAll(/%[0-7][\da-f]/gi, (one) => percentDecoded(one) ?? one),
  );

/** A text that was encoded, and the function that encodes another text in the same way. */
export interface Decoded {
  readonly text: string;
  readonly encode: (text: string) => string;
}

/** Decodes printable text in base64, base64url or hex digits. Returns undefined for anything else. */
export function decodedText(token: string): Decoded | undefined {
  if (token.length > mostDecoded) return undefined;
  if (/^(?:[\da-f]{2}){6,}$/i.test(token)) {
    const text = printable(Buffer.from(token, "hex"));
    if (text !== undefined) return { text, encode: (one) => Buffer.from(one).toString("hex") };
  }
  const bare = token.replace(/=+$/, "");
  const encoding = /[-_]/.test(token) ? "base64url" : "base64";
  const bytes = Buffer.from(bare, encoding);
  if (bytes.toString(encoding).replace(/=+$/, "") !== bare) return undefined;
  const text = printable(bytes);
  if (text === undefined) return undefined;
  const isPadded = bare !== token || (encoding === "base64" && token.length % 4 === 0);
  return {
    text,
    encode(one) {
      const made = Buffer.from(one).toString(encoding);
      const plain = made.replace(/=+$/, "");
      return isPadded ? plain.padEnd(Math.ceil(plain.length / 4) * 4, "=") : plain;
    },
  };
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function printable(bytes: Uint8Array): string | undefined {
  try {
    const text = decoder.decode(bytes);
    return /[^\P{C}\s]/u.test(text) || text === "" ? undefined : text;
  } catch {
    return undefined;
  }
}
