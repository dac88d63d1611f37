import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { importedAs } from "@svc-webhooks/kit/workspace";
import ts from "typescript5";
import { expect, test } from "vitest";
import { readmes, textOf } from "./readme.js";

/** The files that may name a part of the facade where a user could import or install it, and why. */
const exceptions: readonly (readonly [file: RegExp, mention: string, reason: string])[] = [
  [/^docs\/benchmarks\.md$/, "", "names what was measured"],
  [/^README\.md$/, "@svc-webhooks/hono", "says that parts are packages of their own"],
  [/^\.changeset\/01-first-release\.md$/, "@svc-webhooks/express", "the same"],
  [/^packages\/svc-webhooks\/README\.md$/, "@svc-webhooks/core", "the same"],
  [/^docs\/install\.md$/, "", "names what a package manager installs"],
  [/^packages\/fastify\/src\/index\.ts$/, "@svc-webhooks/fastify", "a name for Fastify's errors"],
  [/^docs\/contributing\//, "", "for contributors: packages of the workspace import each other"],
  [/^docs\/releasing\.md$/, "@svc-webhooks/core", "for maintainers: each package is published"],
  [/^docs\/upgrading\.md$/, "@svc-webhooks/core", "npm ls finds parts of several versions"],
  [/^packages\/otel\/src\/telemetry\.ts$/, "@svc-webhooks/otel", "the name that backends store"],
  [/^packages\/postgres\/src\/errors\.ts$/, "@svc-webhooks/postgres", "the title of a README"],
  [/^packages\/redis\/src\/health\/check\.ts$/, "@svc-webhooks/redis", "the title of a README"],
];

const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");

const sources = tracked.filter(
  (file) =>
    /^(?:packages|tools)\/[^/]+\/src\/.+\.tsx?$/.test(file) && !file.startsWith("tools/bench"),
);

/** Code and texts of examples, forms of the forge, and the first page of the site. */
const others = tracked.filter((file) =>
  /^(?:examples\/(?![^/]+\/test\/).+\.(?:[cm]?[jt]sx?|json)|\.github\/.+\.(?:yml|mjs)|site\/.+(?:\.md|Landing\.vue))$/.test(
    file,
  ),
);

/** The release notes. */
const changesets = tracked.filter((file) => /^\.changeset\/.+\.md$/.test(file));

/** Returns the text of a source without the specifiers of its own imports. */
function withoutImports(file: string): string {
  const text = readFileSync(join(root, file), "utf8");
  const own = ts.preProcessFile(text, true, true).importedFiles;
  return own.reduceRight(
    (kept, { pos, fileName }) => kept.slice(0, pos) + kept.slice(pos + fileName.length + 1),
    text,
  );
}

/**
 * Returns the text of a page without the places that name a package itself: the title of a README, the table of packages,
 * and the front matter of a changeset.
 */
const withoutNames = (page: string) =>
  textOf(page).replaceAll(
    /^(?:# @svc-webhooks\/|\| \[`@svc-webhooks\/|"@svc-webhooks\/[\w-]+": ).*$/gm,
    "",
  );

const texts: readonly (readonly [file: string, text: string])[] = [
  ...[...readmes(), ...changesets, "SECURITY.md", "SUPPORT.md"].map(
    (file) => [file, withoutNames(file)] as const,
  ),
  ...sources.map((file) => [file, withoutImports(file)] as const),
  ...others.map((file) => [file, readFileSync(join(root, file), "utf8")] as const),
];

/** The mentions of entries that users import from the facade, as `[file, entry]`. */
const mentions = texts.flatMap(([file, text]) =>
  Array.from(
    text.matchAll(/@svc-webhooks\/\w+(?:[/-]\w+)*/g),
    ([entry]) => [file, entry] as const,
  ).filter(([, entry]) => importedAs(entry) !== entry),
);

const isException = (file: string, entry: string) =>
  exceptions.some(([files, mention]) => files.test(file) && entry.startsWith(mention));

test("pages, examples, doc comments and printed texts name the facade instead of its parts", () => {
  expect(texts.length).toBeGreaterThan(500);
  expect(mentions.filter(([file, entry]) => !isException(file, entry))).toEqual([]);
});

test.each(exceptions)("%s still names %s: %s", (files, mention) => {
  const found = mentions.filter(([file, entry]) => files.test(file) && entry.startsWith(mention));
  expect(found).not.toEqual([]);
});

test("pages install the command line before they run it with npx", () => {
  const early = readmes().flatMap((page) => {
    const text = textOf(page);
    // `npm ci` installs it in a clone.
    const first = text.search(/\bnpm (?:install|i) .*@svc-webhooks\/cli\b|\bnpm ci\b/);
    return Array.from(text.matchAll(/\bnpx svc-webhooks \w+/g))
      .filter(({ index }) => first === -1 || index < first)
      .map(([command]) => [page, command]);
  });
  expect(early).toEqual([]);
});
