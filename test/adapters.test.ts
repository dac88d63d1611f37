import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root, scope } from "./support/package-tools.js";

/** An adapter converts and holds no policy (ARCHITECTURE.md, "Rules"): so it is short, and anybody could have written it. */
const adapters = [
  { adapter: "hono", most: 50 },
  { adapter: "next", most: 50 },
  { adapter: "express", most: 50 },
  { adapter: "node", most: 150 },
];

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const manifestOf = (directory: string) =>
  JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;

const importing = /^(?:import|export)\s+(type\s)?(?:[^"';]+?\sfrom\s+)?"([^"]+)"/gm;
const comment = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** How a package is named that exports this. */
const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";

describe.each(adapters)("the $adapter adapter", ({ adapter, most }) => {
  const directory = join(root, "packages", adapter);
  const manifest = manifestOf(directory);
  const files = readdirSync(join(directory, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ file, source: readFileSync(join(directory, "src", file), "utf8") }));

  const imports = files.flatMap(({ file, source }) =>
    Array.from(source.matchAll(importing), ([, type, specifier = ""]) => ({
      file,
      specifier,
      onlyTypes: type !== undefined,
    })),
  );

  test.each(files)(`holds at most ${most} lines in $file`, ({ source }) => {
    expect(source.trimEnd().split("\n").length).toBeLessThanOrEqual(most);
  });

  test.each(files)("names no status code in $file", ({ source }) => {
    const code = source.replaceAll(comment, "");
    expect(code.match(/(?<![\w.])[1-5]\d\d(?![\w.])/g)).toBeNull();
  });

  test("imports the core", () => {
    expect(imports.map(({ specifier }) => packageOf(specifier))).toContain(`${scope}/core`);
  });

  test("imports nothing in another way than by a statement at the top", () => {
    for (const { source } of files) {
      expect(source.replaceAll(comment, "")).not.toMatch(/\b(?:import|require)\s*\(/);
    }
  });

  test("imports files of its own by a path that stays inside of it", () => {
    for (const { file, specifier } of imports.filter((one) => /^[./]/.test(one.specifier))) {
      expect(specifier).toMatch(/^\.\/[\w-]+\.js$/);
      const own = join(directory, "src", file, "..", specifier.replace(/js$/, "ts"));
      expect(existsSync(own), `${file} imports ${specifier}`).toBe(true);
    }
  });

  test("imports of others only what they export, and only from those that it depends on", () => {
    const allowed = { ...manifest.dependencies, ...manifest.peerDependencies };
    const others = imports.filter(({ specifier }) => !/^(?:\.|node:)/.test(specifier));
    for (const { specifier } of others) {
      const name = packageOf(specifier);
      expect(Object.keys(allowed)).toContain(name);
      if (name.startsWith(`${scope}/`)) {
        const { exports } = manifestOf(join(root, "node_modules", name));
        expect(Object.keys(exports)).toContain(specifier.replace(name, "."));
      }
    }
  });

  test("takes of Node only types", () => {
    expect(
      imports.filter(({ specifier, onlyTypes }) => specifier.startsWith("node:") && !onlyTypes),
    ).toEqual([]);
  });
});
