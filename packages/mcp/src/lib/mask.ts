import { masked } from "svc-webhooks/workbench";

/** Replaces each part of a secret with an ellipsis. */
export type Mask = (text: string) => string;

/** The minimum length of a secret: a shorter one occurs in other text by chance. */
export const shortestSecret = 8;

/** The number of characters from which a part of a secret is masked, as text or in base64, and in hex. */
const textPart = 8;
const hexPart = 16;

/** A text in which escapes are decoded, with the position of each of its characters in the original text. */
interface View {
  readonly text: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

const escapes =
  /(?:%[0-9a-f]{2})+|\\{1,16}(?:u\{?[0-9a-f]{4,6}\}?|x[0-9a-f]{2}|[/"])|\\\\|&#(?:x[0-9a-f]{1,6}|\d{1,7});?|&(?:sol|plus|equals|lowbar|hyphen|dash|amp|quot);/gi;

const named: Readonly<Record<string, string>> = {
  sol: "/",
  plus: "+",
  equals: "=",
  lowbar: "_",
  hyphen: "-",
  dash: "-",
  amp: "&",
  quot: '"',
};

/** The number of times that escapes are decoded: an encoded text may be encoded again. */
const layers = 3;

/**
 * Returns a function that masks secrets and their parts: as text, in hex, in base64 at any alignment, as a list of
 * bytes in hex or decimal, in compatibility forms such as full width, and behind percent, JSON and HTML escapes.
 */
export function maskOf(secrets: readonly string[]): Mask {
  const texts = new Set<string>();
  const hex = new Set<string>();
  const bytesOf = new Set<string>();
  for (const secret of secrets) {
    const bytes = Buffer.from(secret);
    addParts(bytesOf, bytes.toString("latin1"), textPart);
    addParts(texts, inBase64(secret), textPart);
    addParts(hex, bytes.toString("hex"), hexPart);
    for (const text of base64Texts(bytes)) addParts(texts, text, textPart);
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    addParts(hex, key.toString("hex"), hexPart);
    addParts(bytesOf, key.toString("latin1"), textPart);
  }
  return (text) => {
    const hidden = new Uint8Array(text.length);
    for (const view of viewsOf(text)) {
      hide(hidden, view, view.text.toLowerCase(), hex, hexPart);
      hide(hidden, view, inBase64(view.text), texts, textPart);
      for (const listed of [listedBytes(view, hexBytes, 16), listedBytes(view, decimalBytes, 10)])
        hide(hidden, listed, listed.text, bytesOf, textPart);
    }
    return masked(withoutHidden(text, hidden));
  };
}

/** Replaces the characters of base64url by those of base64. */
const inBase64 = (text: string): string => text.replaceAll("-", "+").replaceAll("_", "/");

function addParts(parts: Set<string>, text: string, length: number): void {
  for (let at = 0; at + length <= text.length; at += 1) parts.add(text.slice(at, at + length));
}

/** Returns the characters of base64 that depend only on these bytes, for each alignment. */
const base64Texts = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
    return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
  });

function viewsOf(text: string): readonly View[] {
  const views = [compatible(text)];
  for (let layer = 0; layer < layers; layer += 1) {
    const last = views.at(-1);
    const next = last && decoded(last);
    if (!next) break;
    views.push(next);
  }
  return views;
}

/** Returns the view in which full-width and other compatibility forms are plain characters. */
function compatible(text: string): View {
  const characters: string[] = [];
  const view = { starts: [] as number[], ends: [] as number[] };
  for (let at = 0; at < text.length; at += 1) {
    const plain = text.charAt(at).normalize("NFKC");
    characters.push(plain);
    for (let one = 0; one < plain.length; one += 1) {
      view.starts.push(at);
      view.ends.push(at + 1);
    }
  }
  return { text: characters.join(""), ...view };
}

/** Decodes the escapes of a view. Returns undefined if it has none. */
function decoded({ text, starts, ends }: View): View | undefined {
  const pieces: string[] = [];
  const view = { starts: [] as number[], ends: [] as number[] };
  let at = 0;
  for (const { 0: escape, index } of text.matchAll(escapes)) {
    pieces.push(text.slice(at, index));
    for (let one = at; one < index; one += 1) {
      view.starts.push(starts[one] ?? 0);
      view.ends.push(ends[one] ?? 0);
    }
    at = index + escape.length;
    const plain = characterOf(escape);
    pieces.push(plain);
    for (let one = 0; one < plain.length; one += 1) {
      view.starts.push(starts[index] ?? 0);
      view.ends.push(ends[at - 1] ?? 0);
    }
  }
  if (at === 0) return undefined;
  pieces.push(text.slice(at));
  for (let one = at; one < text.length; one += 1) {
    view.starts.push(starts[one] ?? 0);
    view.ends.push(ends[one] ?? 0);
  }
  return { text: pieces.join(""), ...view };
}

/** Bytes in a list, as `inspect(Buffer)`, `String(Uint8Array)` and JSON print them, with the separators before them. */
const hexBytes = /([\s,:;.-]*)(?:(?<![0-9a-z])(?:0x|\\x)?([0-9a-f]{2})(?![0-9a-z]))?/giy;
const decimalBytes = /([\s,:;.-]*)(?:(?<![0-9a-z])(\d{1,3})(?![0-9a-z]))?/giy;

/** Decodes the lists of bytes in a view. Other text becomes a NUL, so that no part spans two lists. */
function listedBytes({ text, starts, ends }: View, pattern: RegExp, radix: number): View {
  const characters: string[] = [];
  const view = { starts: [] as number[], ends: [] as number[] };
  let at = 0;
  while (at < text.length) {
    pattern.lastIndex = at;
    const [found = "", before = "", digits = ""] = pattern.exec(text) ?? [];
    const byte = Number.parseInt(digits, radix);
    const isByte = byte <= 255;
    // Separators without a byte are skipped together: searching each of them takes quadratic time.
    const end = at + Math.max(found.length, 1);
    characters.push(isByte ? String.fromCharCode(byte) : "\0");
    view.starts.push(starts[isByte ? at + before.length : at] ?? 0);
    view.ends.push(ends[end - 1] ?? 0);
    at = end;
  }
  return { text: characters.join(""), ...view };
}

function characterOf(escape: string): string {
  if (escape.startsWith("%"))
    return Buffer.from(escape.replaceAll("%", ""), "hex").toString("utf8");
  const name = /^&(\w+);/.exec(escape)?.[1];
  if (name !== undefined) return named[name.toLowerCase()] ?? escape;
  const [last = ""] = /[/"\\]$/.exec(escape) ?? [];
  if (last !== "") return last;
  const digits = escape.replaceAll(/[^0-9a-f]/gi, "");
  const isDecimal = /^&#\d/.test(escape);
  const code = Number.parseInt(digits, isDecimal ? 10 : 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : escape;
}

function hide(
  hidden: Uint8Array,
  { starts, ends }: View,
  text: string,
  parts: ReadonlySet<string>,
  length: number,
): void {
  if (parts.size === 0) return;
  for (let at = 0; at + length <= text.length; at += 1) {
    if (parts.has(text.slice(at, at + length)))
      hidden.fill(1, starts[at] ?? 0, ends[at + length - 1] ?? 0);
  }
}

function withoutHidden(text: string, hidden: Uint8Array): string {
  if (!hidden.includes(1)) return text;
  let result = "";
  for (let at = 0; at < text.length; at += 1) {
    if (hidden[at] === 0) result += text.charAt(at);
    else if (at === 0 || hidden[at - 1] === 0) result += "…";
  }
  return result;
}
