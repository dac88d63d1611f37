import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { scope } from "@svc-webhooks/kit/programs";
import { publicPackages, type WorkspacePackage } from "@svc-webhooks/kit/workspace";
import { declarationsOf } from "./declarations.js";
import { isEsmOnly } from "./packed.js";

// The module exists only on Workers.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object }));

/** The packages of `packages` that are not parts of the facade, with the reasons. */
const otherPackages: Readonly<Record<string, string>> = {
  "@svc-webhooks/client": "calls the service's API, which no receiver does",
  "svc-webhooks": "is the facade",
};

/** The entries of the parts that the facade leaves out, with the reasons. */
const leftOut: Readonly<Record<string, string>> = {
  "@svc-webhooks/core/engine":
    "is for packages that make an inbox of a queue; they depend on the core alone",
  "@svc-webhooks/core/store-rules": "is for packages of stores; they depend on the core alone",
};

const parts = publicPackages.filter(
  ({ folder, name }) => folder.startsWith("packages/") && !(name in otherPackages),
);

/** The entries of the facade, by those of its parts: the core is the facade itself, and each other part a subpath. */
const subpaths = new Map(
  parts
    .flatMap(({ entries }) => entries)
    .filter((entry) => !(entry in leftOut))
    .map((entry) => [entry, entry.replace(scope, ".").replace(/^\.\/core(?=\/|$)/, ".")]),
);

const facade = publicPackages.find(({ name }) => name === "svc-webhooks") as WorkspacePackage;
const { manifest } = facade;
const read = (path: string) => readFileSync(join(facade.source, path), "utf8");
const fileOf = (subpath: string) => (subpath === "." ? "index" : subpath.slice(2));

test("the lists of what the facade leaves out name only what exists", () => {
  const all = new Set(publicPackages.flatMap(({ entries, name }) => [name, ...entries]));
  const listed = [...Object.keys(otherPackages), ...Object.keys(leftOut)];
  expect(listed.filter((one) => !all.has(one))).toEqual([]);
});

test("the facade has an entry for each entry of its parts, and the SQL of the stores", () => {
  const sql = ["./postgres/schema.sql", "./sqlite/schema.sql"];
  const expected = [...subpaths.values(), ...sql, "./package.json"];
  expect(Object.keys(manifest.exports ?? {}).toSorted()).toEqual(expected.toSorted());
  expect(sql.map((path) => manifest.exports?.[path])).toEqual(sql);
  const onlyEsm = [...subpaths.values()].filter((path) => isEsmOnly(facade.name + path.slice(1)));
  expect(onlyEsm.map((path) => manifest.exports?.[path])).toEqual(
    onlyEsm.map((path) => {
      const file = `./dist/${fileOf(path)}`;
      return { types: `${file}.d.ts`, default: `${file}.js` };
    }),
  );
});

test("the facade depends on exactly its parts, at their version, and has no peers", () => {
  const { name, version } = manifest;
  expect(manifest.dependencies).toEqual(
    Object.fromEntries(parts.map((part) => [part.name, version])),
  );
  const other = [manifest.peerDependencies, manifest.optionalDependencies];
  expect([name, ...other]).toEqual(["svc-webhooks", undefined, undefined]);
});

// With a range that an app's own version does not satisfy, npm would install nothing.
test("each peer of a part is optional, so that an app installs only what it names", () => {
  const required = parts.flatMap(({ name, manifest: { peerDependencies, peerDependenciesMeta } }) =>
    Object.keys(peerDependencies ?? {})
      .filter((peer) => peerDependenciesMeta?.[peer]?.optional !== true)
      .map((peer) => `${name} ${peer}`),
  );
  expect(required).toEqual([]);
});

test.each(["postgres", "sqlite"])("the build copies the SQL of %s", (name) => {
  const part = parts.find((one) => one.name === `${scope}/${name}`);
  expect(read(`${name}/schema.sql`)).toBe(
    readFileSync(join(part?.source ?? "", "schema.sql"), "utf8"),
  );
});

test.each([...subpaths])("%s is exported by %s", async (part, subpath) => {
  const statement = `export * from "${part}";\n`;
  const file = fileOf(subpath);
  expect(read(`src/${file}.ts`)).toBe(statement);
  expect(read(`dist/${file}.d.ts`)).toContain(statement);
  // `export *` leaves out a default export.
  expect(declarationsOf(part).exports.map(({ name }) => name)).not.toContain("default");

  const entry = facade.name + subpath.slice(1);
  const [all, expected] = (await Promise.all([import(entry), import(part)])) as [object, object];
  expect(Object.keys(all)).toEqual(Object.keys(expected));
  if (isEsmOnly(entry)) return;
  const require = createRequire(import.meta.url);
  const [required, original] = [require(entry), require(part)] as [object, object];
  expect({ ...required }).toEqual({ ...original });
});
