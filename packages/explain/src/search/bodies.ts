import { fromBinary, toBase64, toBinary, utf16, utf8, type Bytes } from "./bytes.js";
import { jsonTexts } from "./json-texts.js";
import type { MistakeId } from "../mistakes.js";

/** Bytes that buggy code may have signed instead of the body, and the mistakes that lead to them. */
export interface BodyVariant {
  readonly ids: readonly MistakeId[];
  readonly body: Bytes;
}

/**
 * Yields variants one at a time, because together they would need a hundred times the memory of the body. Yields
 * undefined where the caller can let other work run.
 *
 * @param combine whether to include variants that combine several mistakes
 */
export function* bodyVariants(body: Bytes, combine: boolean): Generator<BodyVariant | undefined> {
  const raw = toBinary(body);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
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
    ["latin1", [utf8(raw), fromBinary(text), fromBinary(bare)]],
    ["utf16", [utf16(text), utf16(bare)]],
    ["base64_body", [utf8(toBase64(body))]],
    ["quoted_body", [utf8(JSON.stringify(text))]],
    ["placeholder_body", ["[object Object]", "{}", "undefined", "null"].map(utf8)],
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
