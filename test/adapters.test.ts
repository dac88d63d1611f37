import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scope } from "./support/package-tools.js";
import { packages, packagesOfKind } from "./support/workspace.js";

/** ARCHITECTURE.md, "Rules": an adapter converts and holds no policy. Conversions of `node:http` take more lines than those of `Request`. */
const longest = { web: 50, node: 150 };

const importing = /^(?:import|export)\s+(type\s)?(?:[^"';]+?\sfrom\s+)?"([^"]+)"/gm;
const comment = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** How a package is named that exports this. */
const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";

describe.each(packagesOfKind("adapter"))("$name", ({ source: directory, manifest }) => {
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

  test.each(files)("holds few lines in $file", ({ file, source }) => {
    const importsNode = imports.some(
      (one) => one.file === file && one.specifier.startsWith("node:"),
    );
    const most = importsNode ? longest.node : longest.web;
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
        expect(packages.flatMap(({ entries }) => entries)).toContain(specifier);
      }
    }
  });

  test("takes of Node only types", () => {
    expect(
      imports.filter(({ specifier, onlyTypes }) => specifier.startsWith("node:") && !onlyTypes),
    ).toEqual([]);
  });
});
