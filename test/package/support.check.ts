import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { minVersion, satisfies } from "semver";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import { publicPackages, readManifest } from "@svc-webhooks/kit/workspace";
import { textOf } from "../suites.js";

const support = textOf("SUPPORT.md");
const own = readManifest(root);

/** The range of Node versions that users need. All public packages have the same one. */
const range = publicPackages[0]?.manifest.engines?.["node"] ?? "";

const lowest = minVersion(range);
const next = minVersion(range.split("||")[1] ?? "");
const atWork = minVersion(own.engines?.["node"] ?? "");

/** The range as users read it. */
const words = `Node ${lowest?.major} (${lowest?.major}.${lowest?.minor} or newer), or Node ${next?.major} or newer`;

/** Returns `20.12` for 20.12.0 and `20.12.0`, and `24` for `24`. */
const short = (version: string) => version.split(".").slice(0, 2).join(".");

/** The Node versions on which `npm run test:matrix` runs the packages. */
const matrix = Array.from(
  /^const versions = ends\(\[(.+)\]\);$/m
    .exec(textOf("test/package/nodes.matrix.ts"))?.[1]
    ?.matchAll(/"([\d.]+)"/g) ?? [],
  ([, version = ""]) => version,
);

/** The Node versions in the table of the adapters' contract, without the one that runs the tests. */
const ofAdapters = Object.keys(tableOf("docs/runtimes.md", "adapter")[0] ?? {}).flatMap(
  (name) => /^Node (\d+)$/.exec(name)?.[1] ?? [],
);

const majors = [...matrix, ...ofAdapters].map((version) => Number(version.split(".")[0]));

test("all public packages need the Node versions that SUPPORT.md lists, and the matrix tests them", () => {
  expect(publicPackages.map(({ manifest }) => manifest.engines?.["node"])).toEqual(
    publicPackages.map(() => range),
  );
  expect(support).toContain(`\`${range}\``);
  const list = new Intl.ListFormat("en-GB").format(matrix.map(short));
  const newest = Math.max(...ofAdapters.map(Number));
  expect(tableOf("SUPPORT.md", "what").find(({ what }) => what === "Node")).toMatchObject({
    versions: words,
    "checked by": `\`test/package/nodes.matrix.ts\` on Node ${list}; the adapters also on Node ${newest}`,
  });
  const [first = "", ...others] = matrix;
  expect(first).toBe(lowest?.version);
  expect(others.filter((version) => !satisfies(minVersion(version) ?? "", range))).toEqual([]);
});

test("the READMEs of packages name the same Node versions", () => {
  const readmes = ["SUPPORT.md", ...publicPackages.map(({ folder }) => `${folder}/README.md`)];
  const phrases = readmes.flatMap((file) =>
    Array.from(
      textOf(file).matchAll(/Node \d+ \([\d.]+ or newer\),(?: or)? Node \d+ or newer/g),
      ([phrase]) => [file, phrase.replace("), or", "),").replace("),", "), or")],
    ),
  );
  expect(phrases.length).toBeGreaterThan(3);
  expect(phrases).toEqual(phrases.map(([file]) => [file, words]));
});

test("README, SUPPORT, SECURITY and CONTRIBUTING name only Node versions that are tested", () => {
  const atWorkWords = `Node ${atWork?.major}.${atWork?.minor} or newer`;
  for (const page of ["README.md", "CONTRIBUTING.md", "SUPPORT.md"]) {
    expect(textOf(page)).toContain(atWorkWords);
  }
  const known = new Set([...matrix.map(short), ...majors.map(String)]);
  const named = ["README.md", "SUPPORT.md", "SECURITY.md", "CONTRIBUTING.md"].flatMap((page) =>
    Array.from(textOf(page).matchAll(/\bNode (\d+(?:\.\d+)?)/g), ([, version = ""]) => [
      page,
      version,
    ]),
  );
  expect(named.filter(([, version = ""]) => !known.has(version))).toEqual([]);
});

test("the workflow of each change tests every major version, if the repository has one", () => {
  const workflow = ".github/workflows/ci.yml";
  const expected = [...new Set(majors)].toSorted((a, b) => a - b).join(", ");
  const text = existsSync(join(root, workflow)) ? textOf(workflow) : `  node: [${expected}]`;
  expect(/^ +node: \[(.+)\]$/m.exec(text)?.[1]).toBe(expected);
});

test("SUPPORT.md names the TypeScript versions of the tests", () => {
  const { typescript = "", typescript5 = "" } = own.devDependencies ?? {};
  const versions = [typescript5.replace(/^.*@/, ""), typescript].map(short);
  expect(tableOf("SUPPORT.md", "what").find(({ what }) => what === "TypeScript")).toMatchObject({
    versions: versions.join(" and "),
  });
});

test("SUPPORT.md names only files that exist, and README and SECURITY link to it", () => {
  const files = codeIn(support).filter((code) => /^[\w-]+\/.*\.ts$/.test(code));
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  for (const page of ["README.md", "SECURITY.md"]) {
    expect(textOf(page)).toContain("](SUPPORT.md)");
  }
});

/** The form of the comment of a deprecated name, as SUPPORT.md describes it. */
const deprecation = /@deprecated Since \d+\.\d+\.0\. Use \S+/;

test("each deprecation states its version and what to use instead", () => {
  const sources = execFileSync("git", ["ls-files", "packages/*/src/*.ts", "tools/*/src/*.ts"], {
    cwd: root,
    encoding: "utf8",
  });
  const found = sources
    .trim()
    .split("\n")
    .flatMap((file) =>
      Array.from(textOf(file).matchAll(/@deprecated.*/g), ([line]) => `${file}: ${line}`),
    );
  expect(found.filter((line) => !deprecation.test(line))).toEqual([]);
  expect(support.includes("Nothing is deprecated now.")).toBe(found.length === 0);
});
