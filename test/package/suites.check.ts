import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { longest } from "../longest-first.js";
import { endings, filesOf, modulesOf, textOf } from "../suites.js";

const suites = Object.keys(endings) as (keyof typeof endings)[];

test("every file with tests is in a suite", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
  const known = [...Object.values(endings), ".spec.ts"].map((ending) => ending.slice(1, -3));
  const pattern = new RegExp(`\\.(?:${known.join("|")})\\.[cm]?tsx?$`);
  const named = files.filter((file) => pattern.test(file));
  expect(suites.flatMap(filesOf)).toEqual(expect.arrayContaining(named));
});

test("the longest files exist", () => {
  const files = suites.flatMap(filesOf);
  expect(files).toEqual(expect.arrayContaining([...longest]));
});

/** Work that takes minutes, or needs more than `npm ci` installs, by how a module starts it. */
const foreign: Readonly<Record<string, RegExp>> = {
  "a browser": /["']playwright(?:-core)?["']|\bchromium\.launch/,
  "an installation, or another Node":
    /["'](?:npx|pnpm|yarn|corepack|npm (?:i|ci|install|exec))\b|\[["'](?:i|ci|install|exec)["']|["'`]node@/,
  "a build of Next.js": /next\/dist\/bin\/next|["']next(?:["'], \[?["']| )build["']/,
  "a benchmark": /\brun-section\.js|\bbench\/dist\/main\.js/,
  "a chaos run": /\b(?:unleash|runChaos|runSandboxChaos)\(/,
};

/** Returns the modules of suites, each with a file that imports it. */
const modulesIn = (files: readonly string[]) =>
  new Map(files.flatMap((file) => Array.from(modulesOf(file), (one) => [one, file] as const)));

const light = new Set(["check", "test", "slow"]);
const own = modulesIn(suites.filter((suite) => light.has(suite)).flatMap(filesOf));
const others = modulesIn(suites.filter((suite) => !light.has(suite)).flatMap(filesOf));

test.each(Object.entries(foreign))("npm test and test:slow do not start %s", (_what, pattern) => {
  const starting = (modules: ReadonlyMap<string, string>) =>
    [...modules].filter(([module]) => pattern.test(textOf(module)));
  expect(starting(own)).toEqual([]);
  // The other suites start such work, so the pattern finds it.
  expect(starting(others)).not.toEqual([]);
});

test(".ci/run runs each suite", () => {
  expect(textOf(".ci/run")).toContain("node test/ci/run.js");
  const [, table = ""] = /const suites = \{([^}]+)\}/.exec(textOf("test/ci/run.js")) ?? [];
  const named = Array.from(table.matchAll(/^ +"?([\w, ]+)"?: /gm), ([, names = ""]) =>
    names.split(/, | and /),
  ).flat();
  // `npm run check` runs before the suites, and `test:matrix` runs the nightly files.
  expect(["check", ...named, "nightly"].toSorted()).toEqual(suites.toSorted());
});

test("no test is retried inside of a suite", () => {
  const inTests = /(?:test|describe)[^;]{0,200}\{ retry: \d/;
  const retried = suites.flatMap(filesOf).filter((file) => inTests.test(textOf(file)));
  // These are options of queues.
  expect(retried.filter((file) => !/\/(?:options|memory-inbox)\.test\.ts$/.test(file))).toEqual([]);
});

test("CONTRIBUTING lists each script of package.json", () => {
  const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
  const items = textOf("CONTRIBUTING.md").matchAll(/^- `npm (?:run )?([\w:]+)` /gm);
  expect(Array.from(items, ([, name = ""]) => name).toSorted()).toEqual(
    Object.keys(scripts).toSorted(),
  );
});
