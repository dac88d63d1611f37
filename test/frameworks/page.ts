import { mkdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { isPackage } from "../../tools/build/is-package.js";
import { textOf } from "../package/readme.js";

/**
 * The folder of the page's code: Git-ignored, and inside the workspace, so that it finds the root's packages.
 */
export const buildFolder = fileURLToPath(new URL(".build", import.meta.url));

/** Returns the code of a section of docs/frameworks.md. */
export function codeOf(section: string, position = 1): string {
  const [, text = ""] = textOf("docs/frameworks.md").split(`\n## ${section}\n`);
  const [own = ""] = text.split("\n## ");
  const code = Array.from(own.matchAll(/^```ts\n([^]*?)^```$/gm), ([, block]) => block)[
    position - 1
  ];
  if (code === undefined) throw new Error(`"${section}" has no block ${position}.`);
  return code;
}

/** Returns the versions in the page's table. */
export function versionsOf(section: string): readonly string[] {
  const row = new RegExp(String.raw`^\| \[${section}\].*?\|.*?\|(.*?)\|`, "m");
  return row.exec(textOf("docs/frameworks.md"))?.[1]?.trim().split(", ") ?? [];
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
 * The source of a module that runs before the code of the page: it makes every server listen on a free local
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
