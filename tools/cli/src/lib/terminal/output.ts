import type { Line, Output, PaintTo } from "../../paint.js";
import { masked } from "../mask.js";
import { printable } from "./text.js";

/** The maximum length of each part of a line, in characters. */
const longest = 1_000;

/** Writes lines. Removes control characters from their parts, masks secrets except `revealed`, and cuts long parts. */
export function writeLines(
  output: Output,
  lines: readonly Line[],
  paint: PaintTo = ({ text }) => text,
  revealed = "",
): void {
  const safe = (text: string) => printable(text, longest, revealed);
  const written = lines.map((line) =>
    [line]
      .flat()
      .map((part) =>
        typeof part === "string" ? safe(part) : paint({ ...part, text: safe(part.text) }),
      )
      .join("")
      .trimEnd(),
  );
  output.write(`${written.join("\n")}\n`);
}

/** Writes a value as one line of JSON that is safe on a terminal. Masks secrets in strings and member names. */
export function writeJson(output: Output, value: object, revealed = ""): void {
  const json = JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === "string") return masked(part, revealed);
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(
      Object.entries(part).map(([name, member]) => [masked(name, revealed), member as unknown]),
    );
  });
  const safe = json.replaceAll(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
  output.write(`${safe}\n`);
}
