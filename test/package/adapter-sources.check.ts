import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scope } from "@svc-webhooks/kit/programs";
import { packages, packagesOfKind } from "@svc-webhooks/kit/workspace";

// ARCHITECTURE.md, "Rules": an adapter converts and decides nothing.

const importing = /\b(import|from|require)\b\s*\(?\s*"([^"]+)"/g;
const comment = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** Returns the name of the package that exports a specifier. */
const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";

const entries = new Set(packages.flatMap((one) => one.entries));

describe.each(packagesOfKind("adapter"))("$name", ({ source: directory, manifest }) => {
  const files = readdirSync(join(directory, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => {
      const code = readFileSync(join(directory, "src", file), "utf8").replaceAll(comment, "");
      return { file, code };
    });

  test.each(files)("contains no status code in $file", ({ code }) => {
    expect(code.match(/(?<![\w.])[1-5]\d\d(?![\w.])/g)).toBeNull();
  });

  test.each(files)("imports in $file only exported entries of its dependencies", ({ code }) => {
    const allowed = { ...manifest.dependencies, ...manifest.peerDependencies };
    const bad = Array.from(code.matchAll(importing), ([, , specifier = ""]) => specifier)
      .filter((specifier) => !/^(?:\.|node:)/.test(specifier))
      .filter(
        (specifier) =>
          !(packageOf(specifier) in allowed) ||
          (specifier.startsWith(`${scope}/`) && !entries.has(specifier)),
      );
    expect(bad).toEqual([]);
  });

  test.each(files)("imports only types from Node in $file", ({ code }) => {
    expect(code).not.toMatch(/^(?:import|export)\s+(?!type\s)[^"';]*"node:|\(\s*"node:/m);
  });
});
