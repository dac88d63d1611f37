import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";

const text = (file: string) => readFileSync(join(root, file), "utf8");

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => existsSync(join(root, file)));

test("index.ts exports the files at the root of the core's src, and none in its folders", () => {
  const source = "packages/core/src";
  const exported = Array.from(
    text(`${source}/index.ts`).matchAll(/from "\.\/(.+)\.js"/g),
    ([, name]) => String(name),
  );
  const atRoot = readdirSync(join(root, source))
    .filter((name) => name.endsWith(".ts") && name !== "index.ts")
    .map((name) => name.slice(0, -".ts".length));
  expect([...new Set(exported)].toSorted()).toEqual(atRoot.toSorted());
});

/** The modules of this repository that each module imports, including type imports. */
function importsByFile(): ReadonlyMap<string, readonly string[]> {
  const modules = files.filter((file) => /\.[jt]sx?$/.test(file));
  const known = new Set(modules);
  const relative = /(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;
  return new Map(
    modules.map((file) => {
      const targets = Array.from(text(file).matchAll(relative), ([, specifier = ""]) =>
        normalize(join(dirname(file), specifier)),
      );
      const sources = targets.flatMap((target) => [
        target,
        target.replace(/\.js$/, ".ts"),
        target.replace(/\.js$/, ".tsx"),
      ]);
      return [file, sources.filter((target) => known.has(target))];
    }),
  );
}

test("no import cycle exists", () => {
  const imports = importsByFile();
  const finished = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(" → "));
      return;
    }
    if (finished.has(file)) return;
    for (const target of imports.get(file) ?? []) walk(target, [...path, file]);
    finished.add(file);
  };
  for (const file of imports.keys()) walk(file, []);
  expect(imports.size).toBeGreaterThan(100);
  expect(cycles).toEqual([]);
});

/** What the project's texts say in place of the words that its language avoids. */
const plainWords: Readonly<Record<string, RegExp>> = {
  fix: /\bmend(?:s|ed|ing)?\b/,
  again: /\banew\b/,
  expensive: /\bdear\b/,
  unnecessarily: /\bin vain\b/,
  "hand-written": /\bby hand\b/,
  "reports, states, notifies": /\btells?\b|\b(?:is|are|was|were|been) told\b|\bhears? of\b/,
  "pending work": /\bunder way\b/,
  immediately: /\bat once\b/,
  "next to": /\bbeside\b/,
  continue: /\bgo(?:es|ing)? on\b|\bwent on\b/,
  "released, cleared": /\blet(?:s|ting)? go\b/,
  unavailable: /\b(?:sender|store|server) is away\b/,
  "a caller of, the next": /\bwho (?:drains|comes first)\b/,
};

test("comments, pages and printed texts use plain words", () => {
  const texts = files.filter(
    // This file has the list.
    (file) => /\.(?:[jt]sx?|md)$/.test(file) && file !== "test/package/house.test.ts",
  );
  const found = texts.flatMap((file) =>
    text(file)
      .split("\n")
      .flatMap((line, index) =>
        Object.entries(plainWords)
          .filter(([, words]) => words.test(line))
          .map(([plain]) => `${file}:${index + 1}: say "${plain}": ${line.trim()}`),
      ),
  );
  expect(found).toEqual([]);
});
