import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./kit/root.js";

/** The suites, by the ending of their files: `npm test`, `npm run release:rehearse`, and `npm run test:` with the name of the others. */
export const endings = {
  test: ".test.ts",
  slow: ".slow.ts",
  chaos: ".long.ts",
  matrix: ".matrix.ts",
  browser: ".browser.ts",
  release: ".rehearsal.ts",
} as const;

const folders = [
  "test",
  ...["packages", "examples"].flatMap((parent) =>
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

export const textOf = (file: string): string => readFileSync(join(root, file), "utf8");

const imports =
  /(?:\bfrom|\bimport\(?) ?"(?:(?<kit>@svc-webhooks\/kit\/[^"]+)|(?<relative>\.[^"]+\.js))"/g;

/** Returns a file and all modules of the tests that it imports. */
export function modulesOf(file: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(file) || !existsSync(join(root, file))) return found;
  found.add(file);
  for (const { groups } of textOf(file).matchAll(imports)) {
    const { kit, relative = "" } = groups ?? {};
    modulesOf(
      kit
        ? kit.replace("@svc-webhooks", "test") + ".ts"
        : join(dirname(file), relative.replace(/js$/, "ts")),
      found,
    );
  }
  return found;
}

/**
 * A file that replaces modules, or what they find when they are loaded: no earlier file in the same process may
 * load them.
 */
const replaces = /\bvi\.(?:mock|doMock|resetModules)\(|\btimedSandbox\(/;

/** Returns whether a file must not share its process with others. */
export const needsOwnProcess = (file: string): boolean => replaces.test(textOf(file));

/** Returns the files of `npm test` that are larger elsewhere, by the module of the kit that makes them larger. */
export const filesThatUse = (module: "kinds" | "sized"): string[] =>
  filesOf("test").filter((file) => modulesOf(file).has(`test/kit/${module}.ts`));

/** The folders of units and contracts. */
const quick = /^packages\/(?!(?:bench|cli|cloudflare|postgres)\/)|^test\/(?:behaviour|contracts)\//;

/** The slow tests in those folders: programs, loads, the page, and a contract for each of many mistakes. */
const slow = {
  text: /\b(?:describeWith\w+|serverProcess|startModule|spawn)\(/,
  name: /\/(?:adapters|bad-adapters|explain|lists|load|receivers|runners|runtimes)\.test\.ts$|\/inspector\//,
};

/** Returns the files of `npm test` that `npm run test:quick` runs too: units and contracts. */
export const filesOfQuick = (): string[] =>
  filesOf("test").filter(
    (file) => quick.test(file) && !slow.name.test(file) && !slow.text.test(textOf(file)),
  );
