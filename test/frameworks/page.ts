import { mkdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { isPackage } from "../../tools/build/is-package.js";
import { codeBlocks } from "../package/readme.js";

/**
 * The folder of the pages' code: Git-ignored, and inside the workspace, so that it finds the root's packages.
 */
export const buildFolder = fileURLToPath(new URL(".build", import.meta.url));

/** Returns a block of code of a framework's page. */
export function codeOf(framework: string, position = 1): string {
  const page = `docs/frameworks/${framework}.md`;
  const code = codeBlocks(page)[position - 1]?.code;
  if (code === undefined) throw new Error(`${page} has no block ${position}.`);
  return code;
}

/** Writes code as a module that Node can import, and returns its path. */
export async function moduleOf(name: string, code: string): Promise<string> {
  mkdirSync(buildFolder, { recursive: true });
  const input = `${buildFolder}/${name}.ts`;
  writeFileSync(input, code);
  const bundle = await rolldown({
    input,
    external: isPackage,
    platform: "node",
    transform: { decorator: { legacy: true } },
  });
  const file = `${buildFolder}/${basename(name)}.mjs`;
  await bundle.write({ file });
  return file;
}

/**
 * The source of a module that runs before the code of a page: it makes every server listen on a free local
 * port, which it prints.
 */
export const preload = `
import { Server } from "node:net";
const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  this.once("listening", () => console.log(this.address().port));
  return listen.call(this, 0, "127.0.0.1", args.find((arg) => typeof arg === "function"));
};
`;
