import type { Kept } from "./redactor.js";

export const keepOption = {
  keep: {
    type: "string",
    multiple: true,
    value: "name",
    text: "keep values in fields and headers of this name; may be repeated",
  },
} as const;

/** Returns the line that lists the names under which values stayed. */
export const keptText = (kept: readonly Kept[]): string =>
  kept.length === 0
    ? "No value was kept."
    : `Kept: ${kept.map(({ name, count }) => `${name} (${count})`).join(", ")}`;
