import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { tsc, type Compiler } from "@svc-webhooks/kit/programs";
import { expect } from "vitest";
import { codeBlocks, type CodeBlock } from "../package/readme.js";

const fileOf = ({ module }: CodeBlock) => `src/${module}.mts`;

/** Writes blocks as modules of a folder with their packages. */
function writeBlocks(folder: string, blocks: readonly CodeBlock[]): void {
  mkdirSync(join(folder, "src"), { recursive: true });
  for (const block of blocks) writeFileSync(join(folder, fileOf(block)), block.code);
}

/** Imports the block of a page that contains a text, with the packages of a folder. `change` changes its code. */
export async function importBlock<Module>(
  folder: string,
  page: string,
  text: string,
  change: (block: CodeBlock) => CodeBlock = (block) => block,
): Promise<Module> {
  const found = codeBlocks(page).filter(({ code }) => code.includes(text));
  expect(found.map(({ name }) => name)).toHaveLength(1);
  const block = change(found[0] as CodeBlock);
  writeBlocks(folder, [block]);
  return (await import(pathToFileURL(join(folder, fileOf(block))).href)) as Module;
}

/** Compiles blocks with the packages of a folder. Resolves to the errors that the compiler prints. */
export async function errorsOf(
  compiler: Compiler,
  folder: string,
  blocks: readonly CodeBlock[],
): Promise<string> {
  writeBlocks(folder, blocks);
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--types", "node"];
  const modern = ["--target", "es2023", "--module", "nodenext"];
  const { exitCode, stdout } = await tsc(compiler, [...options, ...modern, ...blocks.map(fileOf)], {
    cwd: folder,
  });
  return exitCode === 0 ? "" : `exit code ${exitCode}\n${stdout}`;
}
