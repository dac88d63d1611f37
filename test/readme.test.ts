import { expect, test } from "vitest";
import {
  codeBlocks,
  compileBlocks,
  readmes,
  sources,
  textOf,
  type CodeBlock,
} from "./support/readme.js";

const files = [...readmes(), ...sources()];
const blocks = files.flatMap(codeBlocks);
const { errorsIn, otherErrors, run } = await compileBlocks(blocks);

/** A module of Workers imports `cloudflare:workers`, which Node does not have. */
const runsHere = ({ code }: CodeBlock) => !code.includes('"@svc-webhooks/cloudflare"');

test.each(blocks)("$name compiles", (block) => {
  expect(errorsIn(block)).toEqual([]);
});

test.each(blocks.filter(runsHere))("$name runs to its end", async (block) => {
  expect(await run(block)).toMatchObject({ exitCode: 0, stderr: "" });
});

test("the files around the blocks compile", () => {
  expect(otherErrors).toEqual([]);
});

// It would overlook a block that is indented, or fenced in another way.
test("every block of TypeScript or JavaScript is found", () => {
  const fences = files.flatMap((file) =>
    Array.from(
      textOf(file).matchAll(/^.*(?:`{3,}|~{3,}) *(?:[cm]?[tj]sx?|typescript|javascript)\b/gim),
    ),
  );
  expect(fences.length).toBeGreaterThan(0);
  expect(blocks).toHaveLength(fences.length);
});
