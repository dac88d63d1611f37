import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { longest } from "../longest-first.js";
import { endings, filesOf, filesOfQuick, modulesOf, textOf } from "../suites.js";

const suites = Object.keys(endings) as (keyof typeof endings)[];

test("every file with tests is in exactly one suite", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
  const named = files.filter((file) =>
    /\.(?:test|spec|long|matrix|browser|rehearsal)\.[cm]?tsx?$/.test(file),
  );
  expect(suites.flatMap(filesOf).toSorted()).toEqual(expect.arrayContaining(named.toSorted()));
  expect(named.length).toBeGreaterThan(200);
});

test.each(Object.entries(longest))("the longest files of test:%s exist", (suite, files) => {
  expect(filesOf(suite as keyof typeof longest)).toEqual(expect.arrayContaining([...files]));
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

test.each([
  ["a browser", 'import { firefox } from "playwright-core"'],
  ["a browser", "chromium.launchPersistentContext(folder)"],
  ["an installation, or another Node", 'run("npm", ["ci"])'],
  ["an installation, or another Node", 'run("npm", ["exec", name])'],
  ["an installation, or another Node", 'run("sh", ["-c", "npx -y vite build"])'],
  ["an installation, or another Node", 'execSync("npm install vite")'],
  ["an installation, or another Node", 'run("corepack", ["prepare"])'],
  ["a build of Next.js", 'spawn("next", ["build"])'],
  ["a benchmark", 'fork("packages/bench/dist/main.js")'],
])("it would be noticed if npm test started %s: %s", (what, line) => {
  expect(foreign[what]?.test(line)).toBe(true);
});

test.each(Object.entries(foreign))("npm test does not start %s", (_what, pattern) => {
  // This file contains examples.
  const tests = filesOf("test").filter((file) => file !== "test/package/suites.test.ts");
  const starting = tests.flatMap((file) =>
    Array.from(modulesOf(file), (one) => [file, one] as const).filter(([, one]) =>
      pattern.test(textOf(one)),
    ),
  );
  expect(starting).toEqual([]);
  // The other suites start such work.
  const others = suites.filter((suite) => suite !== "test").flatMap(filesOf);
  const modules = others.flatMap((file) => [...modulesOf(file)]);
  expect(modules.some((one) => pattern.test(textOf(one)))).toBe(true);
});

test("npm run test:quick runs files of npm test", () => {
  const files = filesOfQuick();
  expect(files.length).toBeGreaterThan(50);
  expect(filesOf("test")).toEqual(expect.arrayContaining(files));
});

test("the table of CONTRIBUTING has each script of package.json, except those that others run", () => {
  const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
  const words = new Set(Object.values(scripts).flatMap((script) => script.split(" ")));
  const people = Object.keys(scripts).filter((name) => !words.has(`//#${name}`));
  const rows = textOf("CONTRIBUTING.md").matchAll(/^\| `npm (?:run )?([\w:]+)` /gm);
  expect(Array.from(rows, ([, name = ""]) => name).toSorted()).toEqual(people.toSorted());
});

test(".ci/run runs each suite", () => {
  const ran = textOf(".ci/run").match(/^npm (?:test|run (?:test|release):\w+)$/gm);
  expect(ran).toEqual([
    "npm test",
    "npm run test:matrix",
    "npm run release:rehearse",
    "npm run test:browser",
    "npm run test:chaos",
  ]);
});
