import { expect, test } from "vitest";
import { publicPackages } from "@svc-webhooks/kit/workspace";
import { textOf } from "../suites.js";
import { installedWith, problemsOf, type Locked, type LockedPackages } from "./lockfile.js";

const { packages } = JSON.parse(textOf("package-lock.json")) as {
  readonly packages: LockedPackages;
};
const { allowScripts } = JSON.parse(textOf("package.json")) as {
  readonly allowScripts: Readonly<Record<string, boolean>>;
};

const folders = publicPackages.map(({ folder }) => folder);
const problemsIn = (given: LockedPackages, reviewed = Object.keys(allowScripts)) =>
  problemsOf(given, reviewed, folders);

test("the lockfile pins every package by its content, and installs nothing that was not reviewed", () => {
  expect(problemsIn(packages)).toEqual([]);
  expect(Object.keys(packages).length).toBeGreaterThan(500);
  expect(installedWith(packages, folders).size).toBeGreaterThan(folders.length + 10);
});

const nodemailer = "node_modules/nodemailer";

test.each<[what: string, path: string, change: Locked, problem: RegExp]>([
  ["no integrity", "node_modules/vitest", { integrity: undefined }, /^\S+vitest has no `integ/],
  [
    "a source in Git",
    "node_modules/vitest",
    { resolved: "git+ssh://git@example.com/vitest.git#0a1b" },
    /^\S+vitest comes from git\+ssh:.*from the registry/,
  ],
  [
    "a tarball's URL",
    "node_modules/vitest",
    { resolved: "https://example.com/vitest.tgz" },
    /^\S+vitest comes from https:/,
  ],
  [
    "a folder outside the workspace",
    "node_modules/@svc-webhooks/template",
    { resolved: "../template" },
    /template links to \.\.\/template, which is not in the workspace/,
  ],
  [
    "a new install script",
    "node_modules/vitest",
    { hasInstallScript: true },
    /^\S+vitest has an install script\. Review/,
  ],
  [
    "a package for a newer Node",
    "node_modules/vitest",
    { engines: { node: ">=22" } },
    /^\S+vitest does not run on Node 20\.20\.0/,
  ],
  ["the GPL in a dependency", nodemailer, { license: "GPL-3.0-only" }, /licence is GPL-3\.0-only/],
  ["no licence in a dependency", nodemailer, { license: undefined }, /licence is undefined/],
])("reports %s", (_what, path, change, problem) => {
  const planted = { ...packages, [path]: { ...packages[path], ...change } };
  expect(problemsIn(planted)).toEqual([expect.stringMatching(problem)]);
});

test("reports an install script of a dependency of a public package, even a reviewed one", () => {
  const planted = {
    ...packages,
    [nodemailer]: { ...packages[nodemailer], hasInstallScript: true },
  };
  expect(problemsIn(planted, [...Object.keys(allowScripts), "nodemailer"])).toEqual([
    `${nodemailer} is installed with our packages, and has an install script.`,
  ]);
});

test("reports a reviewed package that has no install script", () => {
  expect(problemsIn(packages, [...Object.keys(allowScripts), "vitest"])).toEqual([
    expect.stringMatching(/^vitest has no install script\. Remove it/),
  ]);
});
