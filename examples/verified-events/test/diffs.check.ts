import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const example = join(import.meta.dirname, "..");

/** The programs that have each effect once, as `[folder, file]`. */
const fixed = readdirSync(example, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !["node_modules", "test"].includes(entry.name))
  .flatMap(({ name }) =>
    readdirSync(join(example, name))
      .filter((file) => file.endsWith(".mjs") && !["before.mjs", "verify.mjs"].includes(file))
      .map((file) => [name, file] as const),
  );

/** Returns the most lines, without imports, that a program adds to `before.mjs`: fewer for a guard around an `await`. */
const most = (code: string) => (/createIntake\(|app\.use\(/.test(code) ? 25 : 5);

test.each(fixed)(
  "the page of %s shows before.mjs and %s as a diff of few lines",
  (folder, file) => {
    const read = (name: string) => readFileSync(join(example, folder, name), "utf8");
    const [before, after] = [read("before.mjs"), read(file)];
    const diffs = Array.from(
      read("README.md").matchAll(/^```diff\n([^]*?)^```$/gm),
      ([, diff = ""]) => diff.split(/(?<=\n)/),
    );
    const versions = diffs.map((lines) => {
      const linesWith = (sign: string) =>
        lines
          .filter((line) => line === "\n" || line.startsWith(" ") || line.startsWith(sign))
          .map((line) => (line === "\n" ? line : line.slice(1)))
          .join("");
      return [linesWith("-"), linesWith("+")];
    });
    expect(versions).toContainEqual([before, after]);
    const added = diffs[versions.findIndex(([, version]) => version === after)]?.filter((line) =>
      /^\+(?!import )/.test(line),
    );
    expect(added?.length).toBeLessThanOrEqual(most(after));
    expect(after.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
  },
);
