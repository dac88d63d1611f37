import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { packages, type WorkspacePackage } from "@svc-webhooks/kit/workspace";
import { commandOptions } from "@svc-webhooks/sandbox/command";
import { expect, test } from "vitest";
import { build, image, wordsOf, type Step } from "./dockerfile.js";

// No container engine runs in CI, so these tests compare the lists of the Dockerfile with the workspaces.

/** Returns a package and the packages of this repository that it depends on, each after its dependencies. */
function closure(
  { folder, manifest }: WorkspacePackage,
  withDev: boolean,
  found: Set<string> = new Set(),
): ReadonlySet<string> {
  const names = { ...manifest.dependencies, ...(withDev && manifest.devDependencies) };
  for (const one of packages.filter(({ name }) => name in names)) closure(one, withDev, found);
  return found.add(folder);
}

const sandbox = packages.filter(({ folder }) => folder === "tools/sandbox");
const [toBuild = [], toRun = []] = [true, false].map((withDev) =>
  sandbox.flatMap((one) => [...closure(one, withDev)]),
);

const read = (file: string) => readFileSync(join(root, file), "utf8");

/** Returns the sources of each COPY, with their targets. */
const copies = (steps: readonly Step[]) =>
  steps
    .filter(({ keyword }) => keyword === "COPY")
    .map(({ words }) => {
      const paths = words.filter((word) => !word.startsWith("--"));
      return { sources: paths.slice(0, -1), target: paths.at(-1) ?? "" };
    });

test("the image is built from the workspaces that the sandbox needs, and from nothing else", () => {
  const copied = copies(build).flatMap(({ sources }) => sources);
  const files = ["package.json", "package-lock.json", ".npmrc", "tsconfig.base.json"];
  expect(copied.toSorted()).toEqual([...files, ...toBuild].toSorted());
  for (const { sources, target } of copies(build)) expect([sources[0], "./"]).toContain(target);
  const allowed = Array.from(read(".dockerignore").matchAll(/^!(.+)$/gm), ([, path = ""]) => path);
  expect(allowed.toSorted()).toEqual(copied.toSorted());
});

test("each command names these workspaces, and builds one after its dependencies", () => {
  const commands = build
    .filter(({ keyword }) => keyword === "RUN")
    .map(({ words }) => words.filter((_word, index) => words[index - 1] === "--workspace"));
  expect(commands.map((one) => one.toSorted())).toEqual(
    [toBuild, toRun, toRun].map((one) => [...one].toSorted()),
  );
  // npm runs a script in the order of the flags.
  expect(commands[1]).toEqual(toRun);
});

test("the image contains the published files of each workspace, except sources", () => {
  const { packages: locked } = JSON.parse(read("package-lock.json")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  const expected = packages
    .filter(({ folder }) => toRun.includes(folder))
    .flatMap(({ folder, manifest }) => {
      const { files } = manifest as unknown as { readonly files: readonly string[] };
      const published = ["package.json", ...files.filter((file) => file !== "src")];
      const isNested = Object.entries(locked).some(
        ([path, { dev }]) => path.startsWith(`${folder}/node_modules/`) && !dev,
      );
      return [...published, ...(isNested ? ["node_modules"] : [])].map(
        (file) => `${folder}/${file}`,
      );
    });
  const copied = copies(image).flatMap(({ sources, target }) =>
    sources.map((source) => {
      const path = source.replace(/^\/src\//, "");
      expect([path, path.replace(/[^/]+$/, "")]).toContain(target);
      return path;
    }),
  );
  expect(copied.toSorted()).toEqual(
    ["node_modules", "tools/sandbox/LICENSE", ...expected].toSorted(),
  );
});

test("the image is pinned, runs as a user that is not root, and exposes the default port", () => {
  const bases = [...build, ...image].flatMap(({ keyword, words }) =>
    keyword === "FROM" ? [words[0]] : [],
  );
  expect(bases).toEqual(bases.map(() => expect.stringMatching(/^node:\d+\.\d+\.\d+-[\w-]+$/)));
  expect(wordsOf("USER")).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
  expect(wordsOf("EXPOSE")).toEqual([commandOptions.port.default]);
});
