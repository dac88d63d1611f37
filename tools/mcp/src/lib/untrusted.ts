import { clean } from "@svc-webhooks/cli/workbench";
import type { UntrustedText } from "../refusal.js";
import type { Mask } from "./mask.js";

/** The maximum size of the field `untrusted`, in bytes of UTF-8. */
export const mostUntrustedBytes = 4_096;

/** The maximum number of characters of each text that are examined, far more than `untrusted` can hold. */
const mostExamined = 65_536;

/**
 * Characters that are not visible, or that each font shows differently. Some of them, such as tag characters and
 * variation selectors, can carry hidden text.
 */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}]/gu;

/**
 * Returns a text as one line of visible characters: without terminal sequences, control and format characters,
 * bidirectional overrides, invisible characters and lone surrogates.
 */
export const cleaned = (text: string): string => clean(text).replaceAll(invisible, "");

/**
 * Cleans, masks and joins texts, one on each line, and cuts the result to 4,096 bytes. Returns undefined if there are
 * no texts.
 */
export function untrustedText(texts: readonly UntrustedText[], mask: Mask): string | undefined {
  const lines = texts.map(([label, text]) => {
    const shown = mask(cleaned(text.slice(0, mostExamined)));
    const rest = text.length - mostExamined;
    return `${label}: ${shown}${rest > 0 ? ` [${rest} characters are not shown]` : ""}`;
  });
  return lines.length === 0 ? undefined : cut(lines.join("\n"));
}

/** Cuts a text to the maximum size, between two characters. A cut text ends with a line that states its full size. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostUntrustedBytes) return text;
  const statement = (shown: number) => `\n[cut: the first ${shown} of ${bytes.length} bytes]`;
  let end = mostUntrustedBytes - statement(bytes.length).length;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end) + statement(end);
}
