import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./kit/root.js";

/** The suites, by the ending of their files: `npm run check`, `npm test`, `npm run release -- rehearse`, and `npm run test:` with the name of the others. */
export const endings = {
  check: ".check.ts",
  test: ".test.ts",
  slow: ".slow.ts",
  chaos: ".long.ts",
  matrix: ".matrix.ts",
  nightly: ".nightly.ts",
  browser: ".browser.ts",
  release: ".rehearsal.ts",
} as const;

const folders = [
  "test",
  ...["packages", "tools", "examples"].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => `${parent}/${name}/test`),
  ),
].filter((folder) => existsSync(join(root, folder)));

/** Returns the files of one suite, relative to the root. */
export const filesOf = (suite: keyof typeof endings): string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter(
        (file) => file.endsWith(endings[suite]) && !/(?:^|\/)(?:node_modules|\.\w+)\//.test(file),
      )
      .map((file) => `${folder}/${file}`),
  );

const texts = new Map<string, string>();

/** Returns the text of a file, relative to the root. */
export function textOf(file: string): string {
  const known = texts.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(join(root, file), "utf8");
  texts.set(file, text);
  return text;
}

const imports =
  /(?:\bfrom|\bimport\(?) ?"(?:(?<kit>@svc-webhooks\/kit\/[^"]+)|(?<relative>\.[^"]+\.js))"/g;

const imported = new Map<string, readonly string[]>();

/** Returns the modules of the tests that a file imports itself. */
function importsOf(file: string): readonly string[] {
  const known = imported.get(file);
  if (known !== undefined) return known;
  const files = Array.from(textOf(file).matchAll(imports), ({ groups }) => {
    const { kit, relative = "" } = groups ?? {};
    return kit
      ? kit.replace("@svc-webhooks", "test") + ".ts"
      : join(dirname(file), relative.replace(/js$/, "ts"));
  }).filter((one) => existsSync(join(root, one)));
  imported.set(file, files);
  return files;
}

/** Returns a file and all modules of the tests that it imports. */
export function modulesOf(file: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const one of importsOf(file)) modulesOf(one, found);
  return found;
}

/**
 * A file that replaces modules, or what they find when they are loaded: no earlier file in the same process may
 * load them.
 */
const replaces = /\bvi\.(?:mock|doMock|resetModules)\(|\btimedSandbox\(/;

/** Returns whether a file must not share its process with others. */
export const needsOwnProcess = (file: string): boolean => replaces.test(textOf(file));

/** Returns the files of `npm test` and `npm run test:slow` that `npm run test:chaos` runs for the other kinds of clients. */
export const filesThatUseKinds = (): string[] =>
  [...filesOf("test"), ...filesOf("slow")].filter((file) =>
    modulesOf(file).has("test/kit/kinds.ts"),
  );

/** The folders of units and contracts. */
const quick =
  /^(?:packages|tools)\/(?!(?:bench|cli|cloudflare|mcp|postgres|sandbox)\/)|^test\/(?:behavior|contracts)\//;

/** The tests in those folders that start servers or programs, or wait for their deadlines. */
const slower = {
  text: /\b(?:describeWith\w+|serverProcess|startModule|spawn)\(/,
  name: /\/(?:adapters|receiver-preconditions|redis-store)\.test\.ts$/,
};

/** Returns the files of `npm test` that `npm run test:quick` runs too: units and contracts. */
export const filesOfQuick = (): string[] =>
  filesOf("test").filter(
    (file) => quick.test(file) && !slower.name.test(file) && !slower.text.test(textOf(file)),
  );
