import { masked } from "@svc-webhooks/cli/workbench";

/** Replaces the parts of secrets in a text with ellipses, and adjacent parts with a single ellipsis. */
export type Mask = (text: string) => string;

/** The minimum length of a secret in characters. A shorter secret may occur in other text by chance. */
export const shortestSecret = 8;

/** The minimum length of a part of a secret that is masked, in bytes. */
const partLength = 8;

/**
 * The maximum number of layers of escapes that are decoded. There may be several, because an escaped text may be
 * escaped again.
 */
const layers = 3;

/** A text whose escapes or encodings are decoded, with the position of each of its characters in the original text. */
interface View {
  readonly text: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/**
 * Returns the decoded text of a match, or the match itself if it encodes nothing. `inner` is the text of the pattern's
 * capture group, if any.
 */
type Decode = (all: string, inner: string | undefined) => string;

const byteOf =
  (radix: number): Decode =>
  (all, digits = "") => {
    const byte = Number.parseInt(digits, radix);
    return byte <= 255 ? String.fromCharCode(byte) : all;
  };

const base64Of: Decode = (all, group) =>
  group === undefined ? all : Buffer.from(group, "base64").toString("latin1");

const names = "sol plus equals amp quot lowbar hyphen dash".split(" ");

const characterOf: Decode = (all, name = "") =>
  '/+=&"_--'[names.indexOf(name.toLowerCase())] ?? all;

/** The patterns of escaped characters, and their decoders. */
const escapes: readonly (readonly [RegExp, Decode])[] = [
  [/(?:%[0-9a-f]{2})+/gi, (all) => Buffer.from(all.replaceAll("%", ""), "hex").toString()],
  [/(?<!\\)\\{1,16}(?:u\{0{0,4}|u00|x)([0-9a-f]{2})\}?/gi, byteOf(16)],
  [/(?<!\\)\\{1,16}([/"])/g, (all, character = all) => character],
  [/\\\\/g, () => "\\"],
  [/&#x([0-9a-f]{1,6});?/gi, byteOf(16)],
  [/&#(\d{1,7});?/g, byteOf(10)],
  [/&([a-z]{3,6});/gi, characterOf],
];

/** The patterns of encoded bytes, and their decoders. A decoded text is searched for parts of the secret's bytes. */
const encodings: readonly (readonly [RegExp, Decode])[] = [
  // Lists of bytes as `inspect(Buffer)`, `String(Uint8Array)` and JSON print them. Each match is a byte and the
  // separators before it.
  [/(?<![\s,:;.-])[\s,:;.-]*(?<![0-9a-z])(?:0x)?([0-9a-f]{2})(?![0-9a-z])/gi, byteOf(16)],
  [/(?<![\s,:;.-])[\s,:;.-]*(?<![0-9a-z])(\d{1,3})(?![0-9a-z])/gi, byteOf(10)],
  // Hex digits and base64, once for each alignment. The characters before the first aligned group stay unchanged.
  [/([0-9a-f]{2})/gi, byteOf(16)],
  [/(?<![0-9a-f])[0-9a-f](?=[0-9a-f])|([0-9a-f]{2})/gi, byteOf(16)],
  [/([\w+/-]{2,4})/g, base64Of],
  ...[1, 2, 3].map((skipped): readonly [RegExp, Decode] => [
    new RegExp(`(?<![\\w+/-])[\\w+/-]{${skipped}}(?=[\\w+/-])|([\\w+/-]{2,4})`, "g"),
    base64Of,
  ]),
];

/**
 * Returns a function that masks each secret, the bytes that result from decoding it as base64, and all parts of both
 * that have 8 bytes or more: as text, in hex, in base64 at any alignment, as a list of bytes in hex or decimal, in
 * compatibility forms such as full width, and under up to three layers of percent, JSON and HTML escapes.
 */
export function maskOf(secrets: readonly string[]): Mask {
  const parts = new Set<string>();
  for (const secret of secrets) {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    for (const form of [secret, Buffer.from(secret).toString("latin1"), key.toString("latin1")]) {
      const text = inBase64(form);
      for (let end = partLength; end <= text.length; end += 1)
        parts.add(text.slice(end - partLength, end));
    }
  }
  return (text) => {
    const hidden = new Uint8Array(text.length);
    for (const { text: normal, starts, ends } of viewsOf(text)) {
      const plain = inBase64(normal);
      for (let end = partLength; end <= plain.length; end += 1) {
        if (parts.has(plain.slice(end - partLength, end)))
          hidden.fill(1, starts[end - partLength], ends[end - 1]);
      }
    }
    const shown = (unit: string, index: number) =>
      hidden[index] === 0 ? unit : hidden[index - 1] === 1 ? "" : "…";
    return masked(text.split("").map(shown).join(""));
  };
}

/** Replaces the characters of base64url with those of base64. */
const inBase64 = (text: string): string => text.replaceAll("-", "+").replaceAll("_", "/");

/**
 * Yields the normalized text, then the text after each layer of escapes is decoded. Also yields each of these texts
 * with each encoding decoded.
 */
function* viewsOf(text: string): Generator<View> {
  const places = Array.from({ length: text.length + 1 }, (_, index) => index);
  const whole = { text, starts: places, ends: places.slice(1) };
  let view = decoded(whole, /[^\0-\u007f]/g, (character) => character.normalize("NFKC"));
  for (let layer = 0; layer <= layers; layer += 1) {
    yield view;
    for (const encoding of encodings) yield decoded(view, ...encoding);
    const next = escapes.reduce((before, escape) => decoded(before, ...escape), view);
    if (next === view) return;
    view = next;
  }
}

/** Returns a view with all matches of a pattern decoded, or the same view if no match changes. */
function decoded(view: View, pattern: RegExp, decode: Decode): View {
  const pieces: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let position = 0;
  const keep = (end: number) => {
    pieces.push(view.text.slice(position, end));
    for (; position < end; position += 1) {
      starts.push(view.starts[position] ?? 0);
      ends.push(view.ends[position] ?? 0);
    }
  };
  for (const { 0: all, 1: inner, index } of view.text.matchAll(pattern)) {
    const plain = decode(all, inner);
    if (plain === all) continue;
    keep(index);
    position = index + all.length;
    pieces.push(plain);
    for (let count = plain.length; count > 0; count -= 1) {
      starts.push(view.starts[index] ?? 0);
      ends.push(view.ends[position - 1] ?? 0);
    }
  }
  if (position === 0) return view;
  keep(view.text.length);
  return { text: pieces.join(""), starts, ends };
}
