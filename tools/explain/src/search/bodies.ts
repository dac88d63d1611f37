import {
  concat,
  fromBinary,
  textOf,
  toBase64,
  toBinary,
  utf16,
  utf8,
  type Bytes,
} from "./bytes.js";
import { jsonTexts } from "./json-texts.js";
import type { MistakeId } from "../mistakes.js";

/** Bytes that buggy code may have signed instead of the body, and the mistakes that lead to them. */
export interface BodyVariant {
  readonly ids: readonly MistakeId[];
  readonly body: Bytes;
}

/**
 * Yields the variants of a body one at a time, because together they would need a hundred times the memory of the body.
 * Yields undefined where the caller can let other work run.
 *
 * @param combine whether to include JSON variants with an added newline. Most of them combine two mistakes
 */
export function* bodyVariants(body: Bytes, combine: boolean): Generator<BodyVariant | undefined> {
  const raw = toBinary(body);
  const text = textOf(body);
  const bare = text.replace(/^\uFEFF/, "");
  const mark = "\xEF\xBB\xBF";
  const edits: readonly (readonly [MistakeId, readonly string[]])[] = [
    ["newline_added", [`${raw}\n`, `${raw}\r\n`]],
    ["newline_removed", [raw.replace(/\r?\n$/, ""), raw.trim()]],
    [
      "line_endings",
      [
        raw.replaceAll("\r\n", "\n"),
        raw.replaceAll(/\r?\n/g, "\r\n"),
        raw.replaceAll(/[\r\n]/g, ""),
      ],
    ],
    ["bom_added", [mark + raw]],
    ["bom_removed", raw.startsWith(mark) ? [raw.slice(mark.length)] : []],
  ];
  for (const [id, variants] of edits) {
    for (const variant of variants) yield { ids: [id], body: fromBinary(variant) };
  }
  for (const decoded of [text, bare]) yield { ids: ["invalid_utf8_replaced"], body: utf8(decoded) };
  for (const json of jsonTexts(bare)) yield json && { ids: [json.id], body: utf8(json.text) };
  const others: readonly (readonly [MistakeId, readonly Bytes[]])[] = [
    ["ascii", asciiOf(raw, text)],
    ["latin1", [utf8(raw), fromBinary(text), fromBinary(bare)]],
    ["utf16", [utf16(text), utf16(bare), utf16(text, true)]],
    ["base64_body", [utf8(toBase64(body))]],
    ["quoted_body", [utf8(JSON.stringify(text))]],
    ["placeholder_body", ["[object Object]", "{}", "undefined", "null"].map(utf8)],
    ["doubled_body", [concat(body, body)]],
    ["empty_body", [utf8("")]],
  ];
  for (const [id, variants] of others) {
    for (const variant of variants) yield { ids: [id], body: variant };
  }
  if (!combine) return;
  for (const json of jsonTexts(bare)) {
    if (!json?.file) continue;
    const ids = raw.endsWith("\n") ? [json.id] : [json.id, "newline_added" as const];
    yield { ids, body: utf8(`${json.text}\n`) };
  }
}

/**
 * Returns variants of the body whose non-ASCII characters are removed or replaced, as various languages do. Returns an
 * empty list if the body is ASCII.
 */
function asciiOf(raw: string, text: string): readonly Bytes[] {
  const texts = [
    text.replaceAll(/[^\0-\x7f]/g, "?"),
    text.replaceAll(/[^\0-\x7f]/gu, "?"),
    text.replaceAll(/[^\0-\x7f]/g, ""),
    raw.replaceAll(/[^\0-\x7f]/g, "?"),
    raw.replaceAll(/[^\0-\x7f]/g, "\uFFFD"),
  ];
  return /[^\0-\x7f]/.test(raw) ? texts.map(utf8) : [];
}

/**
 * The limits of `cutVariants`. For a small body, `small` is the number of variants with a split character, and of
 * positions at which the body is cut. For a larger body, `bytes` is the total size of the variants with a split
 * character.
 */
const most = { small: 1_024, bytes: 16_777_216 };

/**
 * Yields variants of the body that code may sign if it reads chunks incorrectly: with a damaged character that was
 * split between two chunks, or with the end missing. There are too many variants to combine with other mistakes.
 *
 * @param isSmall whether the body is small. If so, it is also cut at each of its first 1,024 positions, not only at
 *   likely ones
 */
export function* cutVariants(body: Bytes, isSmall: boolean): Generator<BodyVariant> {
  const decode = (from: number, to: number) => utf8(textOf(body.subarray(from, to)));
  let left = isSmall ? most.small : most.bytes / body.length;
  for (let start = 0; start < body.length && left > 0; start += 1) {
    const lead = body[start] ?? 0;
    const end = start + (lead < 0xc2 ? 1 : 2 + Number(lead > 0xdf) + Number(lead > 0xef));
    for (let cut = start + 1; cut < end; cut += 1) {
      left -= 1;
      const damaged = concat(decode(start, cut), decode(cut, end));
      const before = concat(body.slice(0, start), damaged);
      yield { ids: ["split_characters"], body: concat(before, body.slice(end)) };
    }
  }
  const text = new TextDecoder().decode(body);
  const characters = text.replaceAll(/[\ud800-\udbff][\udc00-\udfff]/g, "x").length;
  const powers = Array.from({ length: 23 }, (_, power) => 2 ** power);
  const first = Array.from({ length: isSmall ? most.small : 0 }, (_, index) => index + 1);
  for (const size of new Set([text.length, characters, body.length - 1, ...powers, ...first])) {
    if (size > 0 && size < body.length) yield { ids: ["cut_body"], body: body.slice(0, size) };
  }
}
