import { expect, test, vi } from "vitest";
import {
  codeBlocks,
  compileBlocks,
  isInstalledHere,
  pagesAndSources,
  shownChange,
  shownOutput,
  stripeApp,
  textOf,
  type CodeBlock,
} from "./readme.js";
import { declarationsOf } from "./declarations.js";
import { facade, importedAs, publicPackages } from "@svc-webhooks/kit/workspace";

// The module exists only on Workers.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object }));

const blocks = pagesAndSources.flatMap(codeBlocks);

const compiled = [...blocks.filter(isInstalledHere), stripeApp()];
const { errorsIn, otherErrors } = await compileBlocks(compiled);

test.each(compiled)("$name compiles", (block) => {
  expect(errorsIn(block)).toEqual([]);
});

test("the files around the blocks compile", () => {
  expect(otherErrors).toEqual([]);
});

test("the first block of README.md is the app of the quick start", () => {
  const [first] = codeBlocks("README.md");
  expect(first?.code).toBe(textOf("examples/quick-start/app.mjs"));
});

test("README.md is one screen: at most 8,000 bytes", () => {
  expect(Buffer.byteLength(textOf("README.md"))).toBeLessThanOrEqual(8_000);
});

test("README.md shows four lines of output, three lines for Stripe, and then the service's headers", () => {
  expect(shownOutput).toHaveLength(4);
  expect(shownChange).toHaveLength(3);
  expect(shownChange.filter((line) => line.includes("stripe()"))).toHaveLength(1);
  const [, paragraph] = /^```diff\n[^]+?^```\n\n(.+)$/m.exec(textOf("README.md")) ?? [];
  expect(paragraph).toContain("`X-SVC-Signature`");
  expect(paragraph).toContain("`X-SVC-Delivery-Id`");
});

// The pattern would miss a block that is indented or fenced differently.
test("every block of TypeScript or JavaScript is found", () => {
  const fences = pagesAndSources.flatMap((file) =>
    Array.from(
      textOf(file).matchAll(
        /^.*(?:`{3,}|~{3,}) *(?:[cm]?[tj]sx?|typescript|javascript)\b(?! continued$)/gim,
      ),
    ),
  );
  expect(fences.length).toBeGreaterThan(0);
  expect(blocks).toHaveLength(fences.length);
});

/** The entries that are published only because other packages need them, as their READMEs state. */
const notForUsers = new Set([
  "@svc-webhooks/crash-test",
  "@svc-webhooks/crash-test/postgres",
  "@svc-webhooks/testing/forgeries",
  "@svc-webhooks/cli/workbench",
]);

/**
 * The public functions as `[package, entry, function]`. Unlike classes, their names start in lower case. The facade only
 * re-exports those of its parts.
 */
const functions = await Promise.all(
  publicPackages
    .filter((one) => one.name !== facade)
    .flatMap(({ folder, entries }) =>
      entries
        .filter((entry) => !notForUsers.has(entry))
        .map(async (entry) => {
          const exported = Object.entries(
            (await import(entry)) as Readonly<Record<string, unknown>>,
          );
          const { exports } = declarationsOf(entry);
          return exported
            .filter(([name, value]) => typeof value === "function" && /^[a-z]/.test(name))
            .filter(([name]) => exports.some((declared) => declared.name === name))
            .map(([name]) => [folder, entry, name] as const);
        }),
    ),
);

/** Returns the function whose doc comment contains a block. */
function documentedBy({ file, line, code }: CodeBlock): string | undefined {
  const end = line + code.split("\n").length - 1;
  const text = textOf(file).split("\n").slice(end).join("\n");
  return /^export (?:async )?(?:function|const) (\w+)/m.exec(text)?.[1];
}

test.each(functions.flat())("%s documents %s › %s with an @example", (folder, entry, name) => {
  const examples = blocks.filter(
    (block) => block.file.startsWith(`${folder}/src/`) && documentedBy(block) === name,
  );
  const importing = new RegExp(
    `^import {[^}]*\\b${name}\\b[^}]*} from "${importedAs(entry)}";`,
    "m",
  );
  expect(examples.filter(({ code }) => importing.test(code))).not.toEqual([]);
});
