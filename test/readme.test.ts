import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/package-tools.js";
import { codeBlocks, compileBlocks, readmes } from "./support/readme.js";

const blocks = readmes().flatMap(codeBlocks);
const { errorsIn, otherErrors, run } = await compileBlocks(blocks);

test.each(blocks.map((block) => [block.name, block] as const))(
  "%s compiles and runs to its end",
  async (_name, block) => {
    expect(errorsIn(block)).toEqual([]);
    expect(await run(block)).toMatchObject({ exitCode: 0, stderr: "" });
  },
);

test("what surrounds the blocks compiles", () => {
  expect(otherErrors).toEqual([]);
});

// Such as one that is indented, or fenced otherwise.
test("no block of TypeScript or JavaScript is overlooked", () => {
  const fences = readmes().flatMap((readme) =>
    Array.from(
      readFileSync(join(root, readme), "utf8").matchAll(
        /^.*(?:`{3,}|~{3,}) *(?:[cm]?[tj]sx?|typescript|javascript)\b/gim,
      ),
    ),
  );
  expect(fences.length).toBeGreaterThan(0);
  expect(blocks).toHaveLength(fences.length);
});
