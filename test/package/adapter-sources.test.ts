import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scope } from "@svc-webhooks/kit/programs";
import { packages, packagesOfKind } from "@svc-webhooks/kit/workspace";

/** ARCHITECTURE.md, "Rules": an adapter converts and decides nothing. Converting `node:http` takes more lines than converting `Request`. */
const maxLines = { web: 50, node: 150 };

const importing = /^(?:import|export)\s+(type\s)?(?:[^"';]+?\sfrom\s+)?"([^"]+)"/gm;
const comment = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** The name of the package that exports a specifier. */
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

  test.each(files)("stays within the line limit in $file", ({ file, source }) => {
    const importsNode = imports.some(
      (one) => one.file === file && one.specifier.startsWith("node:"),
    );
    const most = importsNode ? maxLines.node : maxLines.web;
    // Doc comments hold an example.
    const code = source.replaceAll(/^ *\/\*\*[^]*?\*\/\n/gm, "");
    expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(most);
  });

  test.each(files)("contains no status code in $file", ({ source }) => {
    const code = source.replaceAll(comment, "");
    expect(code.match(/(?<![\w.])[1-5]\d\d(?![\w.])/g)).toBeNull();
  });

  test("imports the core", () => {
    expect(imports.map(({ specifier }) => packageOf(specifier))).toContain(`${scope}/core`);
  });

  test("imports only by top-level statements", () => {
    for (const { source } of files) {
      expect(source.replaceAll(comment, "")).not.toMatch(/\b(?:import|require)\s*\(/);
    }
  });

  test("imports its own files by a path inside src", () => {
    for (const { file, specifier } of imports.filter((one) => /^[./]/.test(one.specifier))) {
      expect(specifier).toMatch(/^\.\/[\w-]+\.js$/);
      const own = join(directory, "src", file, "..", specifier.replace(/js$/, "ts"));
      expect(existsSync(own), `${file} imports ${specifier}`).toBe(true);
    }
  });

  test("imports only exported entries of declared dependencies", () => {
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

  test("imports only types from Node", () => {
    expect(
      imports.filter(({ specifier, onlyTypes }) => specifier.startsWith("node:") && !onlyTypes),
    ).toEqual([]);
  });
});
