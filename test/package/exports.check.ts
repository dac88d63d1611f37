import { expect, test, vi } from "vitest";
import { declarationsOf } from "./declarations.js";
import { facade, packages, publicPackages } from "@svc-webhooks/kit/workspace";
import { isEsmOnly } from "./packed.js";

// The module exists only on Workers.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object }));

// `facade.check.ts` compares the entries of the facade with those of its parts.
const entries = publicPackages.filter(({ name }) => name !== facade).flatMap((one) => one.entries);

const valuesOf = (entry: string) =>
  declarationsOf(entry)
    .exports.filter(({ isType }) => !isType)
    .map(({ name }) => name);

/** The entries that load the same module, by the entry that the snapshot lists. Each declares a part of it. */
const sharing: Readonly<Record<string, readonly string[]>> = {
  "@svc-webhooks/core": ["@svc-webhooks/core/adapter"],
  "@svc-webhooks/core/adapter": ["@svc-webhooks/core"],
};

test.each(entries)("%s exports what the snapshot lists", async (entry) => {
  const { exports } = declarationsOf(entry);
  const values = [entry, ...(sharing[entry] ?? [])].flatMap(valuesOf);
  expect(Object.keys((await import(entry)) as object).toSorted()).toEqual(values.toSorted());
  const lines = exports.map(({ name, isType }) => (isType ? `type ${name}` : name));
  expect(lines.join("\n")).toMatchSnapshot();
});

const inBothFormats = packages.filter(({ entries: all }) => all.some((one) => !isEsmOnly(one)));

/**
 * Returns the manifest's paths for an entry that the build writes in both formats, and for Node alone if
 * `hasOwnNode`: its JavaScript is `file`, and its types are `typesFile`.
 */
function formats(file: string, typesFile: string, hasOwnNode: boolean): object {
  const format = (extension: string) => {
    const main = `./dist/${file}.${extension}`;
    // Edge platforms may have the condition `node` too.
    const platforms = {
      workerd: main,
      "edge-light": main,
      node: `./dist/${file}.node.${extension}`,
    };
    const types = `./dist/${typesFile}.d.${extension.replace("js", "ts")}`;
    return { types, ...(hasOwnNode && platforms), default: main };
  };
  return { import: format("js"), require: format("cjs") };
}

test.each(inBothFormats)(
  "$name has each entry as ESM and CommonJS, with types",
  ({ manifest, name, entries: own }) => {
    const exported = Object.entries(manifest.exports ?? {}).filter(
      ([entry]) => own.includes(name + entry.slice(1)) && !isEsmOnly(name + entry.slice(1)),
    );
    const self = manifest.exports?.["./package.json"];
    const written = exported.map(([entry, conditions]) => {
      const [, file = ""] = /"\.\/dist\/([\w/-]+)\.js"/.exec(JSON.stringify(conditions)) ?? [];
      const text = JSON.stringify(conditions);
      const [, types = ""] = /"\.\/dist\/([\w/-]+)\.d\.ts"/.exec(text) ?? [];
      const hasOwnNode = text.includes(".node.");
      return { entry: entry.replace(/^\.\/?/, ""), file, types, text, hasOwnNode };
    });
    expect(self).toBe("./package.json");
    // TypeScript uses the first condition that matches, so the order counts.
    expect(written.map(({ text }) => text)).toEqual(
      written.map(({ file, types, hasOwnNode }) =>
        JSON.stringify(formats(file, types, hasOwnNode)),
      ),
    );
    // The command line has no main entry.
    const main = written.find(({ entry }) => entry === "");
    const others = written.filter((entry) => entry !== main);
    // `node10` does not read `exports`.
    const versions = others.map(({ entry, types }) => [entry, [`./dist/${types}.d.cts`]]);
    expect(manifest).toMatchObject({
      ...(main && { main: `./dist/${main.file}.cjs`, types: `./dist/${main.types}.d.cts` }),
      ...(versions.length > 0 && { typesVersions: { "*": Object.fromEntries(versions) } }),
    });
  },
);
