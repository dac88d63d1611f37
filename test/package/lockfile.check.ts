import { posix } from "node:path";
import { publicPackages } from "@svc-webhooks/kit/workspace";
import { satisfies } from "semver";
import { expect, test } from "vitest";
import { textOf } from "../suites.js";

type Versions = Readonly<Record<string, string>>;

/** A package as package-lock.json describes it. */
interface Locked {
  readonly integrity?: string | undefined;
  readonly license?: string | undefined;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
}

/** The packages of package-lock.json by their folders. Those outside `node_modules` are the workspace's own. */
type LockedPackages = Readonly<Record<string, Locked>>;

/** The Node version that the packages of the lockfile must run on: the oldest one that `npm test` runs on. */
const node = "20.20.0";

/** The licenses of packages that users install with ours. All of them permit use, changes and redistribution. */
const licenses: ReadonlySet<string | undefined> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MIT-0",
]);

const published = publicPackages.map(({ folder }) => folder);
const { allowScripts } = JSON.parse(textOf("package.json")) as {
  readonly allowScripts: Readonly<Record<string, boolean>>;
};
const reviewed = Object.keys(allowScripts);

const nameOf = (path: string) => path.replace(/^.*node_modules\//, "");

/** Returns the folder of a dependency as Node finds it, or undefined if the lockfile has none. */
function resolved(packages: LockedPackages, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = posix.dirname(folder)) {
    const path = posix.join(folder, "node_modules", name);
    if (packages[path]) return path;
    if (folder === ".") return undefined;
  }
}

/** Returns the folders of all packages that npm installs with these ones, without their peers. */
function installedWith(packages: LockedPackages, folders: readonly string[]): Set<string> {
  const installed = new Set<string>();
  const add = (path: string): void => {
    const { link, resolved: target, dependencies, optionalDependencies } = packages[path] ?? {};
    if (link && target !== undefined) return add(target);
    if (installed.has(path)) return;
    installed.add(path);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const dependency = resolved(packages, path, name);
      if (dependency !== undefined) add(dependency);
    }
  };
  folders.forEach(add);
  return installed;
}

/** Returns the problems of one package from a registry. */
function* problemsOfPackage(path: string, locked: Locked) {
  if (locked.integrity === undefined) {
    yield `${path} has no \`integrity\`. Remove its entry and run \`npm install --package-lock-only\`.`;
  }
  // The setting `omit-lockfile-registry-resolved` leaves out the addresses of registries.
  if (locked.resolved !== undefined) {
    yield `${path} comes from ${locked.resolved}. Depend on a version from the registry.`;
  }
  if (locked.hasInstallScript && !reviewed.includes(nameOf(path))) {
    yield `${path} has an install script. Review it and add the package to \`allowScripts\`.`;
  }
  if (!satisfies(node, locked.engines?.node ?? "*")) {
    yield `${path} does not run on Node ${node}: it needs ${locked.engines?.node}. Use an older version.`;
  }
}

/** Returns the problems of a lockfile, with their fixes. */
function problemsOf(packages: LockedPackages): readonly string[] {
  const problems: string[] = [];
  for (const [path, locked] of Object.entries(packages)) {
    if (locked.link) {
      if (packages[locked.resolved ?? ""] === undefined || locked.resolved?.startsWith("..")) {
        problems.push(`${path} links to ${locked.resolved}, which is not in the workspace.`);
      }
    } else if (path.includes("node_modules/")) {
      problems.push(...problemsOfPackage(path, locked));
    }
  }
  const names = new Set(
    Object.entries(packages).flatMap(([path, one]) => (one.hasInstallScript ? nameOf(path) : [])),
  );
  for (const name of reviewed.filter((one) => !names.has(one))) {
    problems.push(`${name} has no install script. Remove it from \`allowScripts\`.`);
  }
  for (const path of installedWith(packages, published)) {
    const { license, hasInstallScript } = packages[path] ?? {};
    if (!licenses.has(license)) {
      problems.push(`${path} is installed with our packages, and its license is ${license}.`);
    }
    if (hasInstallScript) {
      problems.push(`${path} is installed with our packages, and has an install script.`);
    }
  }
  return problems;
}

const { packages } = JSON.parse(textOf("package-lock.json")) as {
  readonly packages: LockedPackages;
};

test("the lockfile pins every package by its content, and installs nothing that was not reviewed", () => {
  expect(problemsOf(packages)).toEqual([]);
  expect(Object.keys(packages).length).toBeGreaterThan(500);
  expect(installedWith(packages, published).size).toBeGreaterThan(published.length + 10);
});

const [vitest, nodemailer] = ["node_modules/vitest", "node_modules/nodemailer"];

test.each<[what: string, path: string, change: Locked, problem: string]>([
  ["no integrity", vitest, { integrity: undefined }, "has no `integrity`"],
  ["a tarball's URL", vitest, { resolved: "https://example.com/vitest.tgz" }, "comes from https:"],
  ["a new install script", vitest, { hasInstallScript: true }, "Review it"],
  ["a package for a newer Node", vitest, { engines: { node: ">=22" } }, "does not run on Node 20"],
  ["the GPL in a dependency", nodemailer, { license: "GPL-3.0-only" }, "its license is GPL"],
])("%s is a problem", (_what, path, change, problem) => {
  const planted = { ...packages, [path]: { ...packages[path], ...change } };
  expect(problemsOf(planted)).toEqual([expect.stringContaining(problem)]);
});
