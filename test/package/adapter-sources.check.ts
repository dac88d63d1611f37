import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scope } from "@svc-webhooks/kit/programs";
import { packages, packagesOfKind } from "@svc-webhooks/kit/workspace";

/**
 * The maximum number of lines of an adapter. ARCHITECTURE.md, "Rules": an adapter converts and decides nothing.
 * Converting `node:http` needs more lines than converting `Request`.
 */
const maxLines = { web: 50, node: 150 };

const importing = /^(?:import|export)\s+(type\s)?(?:[^"';]+?\sfrom\s+)?"([^"]+)"/gm;
const comment = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** Returns the name of the package that exports a specifier. */
const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";

describe.each(packagesOfKind("adapter"))("$name", ({ source: directory, manifest }) => {
  const files = readdirSync(join(directory, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => {
      const source = readFileSync(join(directory, "src", file), "utf8");
      const imports = Array.from(source.matchAll(importing), ([, type, specifier = ""]) => ({
        file,
        specifier,
        onlyTypes: type !== undefined,
      }));
      return { file, source, code: source.replaceAll(comment, ""), imports };
    });
  const imports = files.flatMap((file) => file.imports);
  const fromNode = ({ specifier }: { readonly specifier: string }) => specifier.startsWith("node:");

  test.each(files)("stays within the line limit in $file", ({ source, imports: own }) => {
    // Doc comments contain an example.
    const lines = source
      .replaceAll(/^ *\/\*\*[^]*?\*\/\n/gm, "")
      .trimEnd()
      .split("\n").length;
    expect(lines).toBeLessThanOrEqual(own.some(fromNode) ? maxLines.node : maxLines.web);
  });

  test.each(files)("contains no status code in $file", ({ code }) => {
    expect(code.match(/(?<![\w.])[1-5]\d\d(?![\w.])/g)).toBeNull();
  });

  test("imports the core", () => {
    expect(imports.map(({ specifier }) => packageOf(specifier))).toContain(`${scope}/core`);
  });

  test.each(files)("imports only by top-level statements in $file", ({ code }) => {
    expect(code).not.toMatch(/\b(?:import|require)\s*\(/);
  });

  test("imports its own files by a path inside src", () => {
    for (const { file, specifier } of imports.filter((one) => /^[./]/.test(one.specifier))) {
      expect(specifier).toMatch(/^\.\/[\w-]+\.js$/);
      const own = join(directory, "src", file, "..", specifier.replace(/js$/, "ts"));
      expect(existsSync(own), `${file} imports ${specifier}`).toBe(true);
    }
  });

  test("imports only exported entries of declared dependencies", () => {
    const allowed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const others = imports.filter(({ specifier }) => !/^(?:\.|node:)/.test(specifier));
    for (const { specifier } of others) {
      const name = packageOf(specifier);
      expect(allowed).toContain(name);
      if (name.startsWith(`${scope}/`)) {
        expect(packages.flatMap(({ entries }) => entries)).toContain(specifier);
      }
    }
  });

  test("imports only types from Node", () => {
    expect(imports.filter((one) => fromNode(one) && !one.onlyTypes)).toEqual([]);
  });
});
