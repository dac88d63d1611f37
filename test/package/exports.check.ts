import { expect, test, vi } from "vitest";
import { declarationsOf } from "./declarations.js";
import { packages, publicPackages } from "@svc-webhooks/kit/workspace";
import { esmOnly } from "./packed.js";

// The module exists only on Workers.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object }));

const entries = publicPackages.flatMap((one) => one.entries);

test.each(entries)("%s exports what the snapshot lists", async (entry) => {
  const { exports } = declarationsOf(entry);
  const values = exports.filter(({ isType }) => !isType).map(({ name }) => name);
  const module = (await import(entry)) as object;
  expect(Object.keys(module).toSorted()).toEqual(values);
  const lines = exports.map(({ name, isType }) => (isType ? `type ${name}` : name));
  expect(lines.join("\n")).toMatchSnapshot();
});

const inBothFormats = packages.filter((one) => one.entries.length > 0 && !esmOnly.has(one.name));

/**
 * Returns the manifest's paths for files that the build writes in both formats, and for Node alone if
 * `hasOwnNode`.
 */
function formats(file: string, hasOwnNode: boolean): object {
  const format = (extension: string) => {
    const main = `./dist/${file}.${extension}`;
    // Edge platforms may have the condition `node` too.
    const platforms = {
      workerd: main,
      "edge-light": main,
      node: `./dist/${file}.node.${extension}`,
    };
    const types = `./dist/${file}.d.${extension.replace("js", "ts")}`;
    return { types, ...(hasOwnNode && platforms), default: main };
  };
  return { import: format("js"), require: format("cjs") };
}

test.each(inBothFormats)("$name has each entry as ESM and CommonJS, with types", ({ manifest }) => {
  const { "./package.json": self, ...exported } = manifest.exports ?? {};
  const written = Object.entries(exported).map(([entry, conditions]) => {
    const [, file = ""] = /"\.\/dist\/([\w/-]+)\.js"/.exec(JSON.stringify(conditions)) ?? [];
    const text = JSON.stringify(conditions);
    return { entry: entry.replace(/^\.\/?/, ""), file, text, hasOwnNode: text.includes(".node.") };
  });
  expect(self).toBe("./package.json");
  // TypeScript uses the first condition that matches, so the order counts.
  expect(written.map(({ text }) => text)).toEqual(
    written.map(({ file, hasOwnNode }) => JSON.stringify(formats(file, hasOwnNode))),
  );
  // The command line has no main entry.
  const main = written.find(({ entry }) => entry === "");
  const others = written.filter((one) => one !== main);
  // `node10` does not read `exports`.
  const types = others.map(({ entry, file }) => [entry, [`./dist/${file}.d.cts`]]);
  expect(manifest).toMatchObject({
    ...(main && { main: `./dist/${main.file}.cjs`, types: `./dist/${main.file}.d.cts` }),
    ...(types.length > 0 && { typesVersions: { "*": Object.fromEntries(types) } }),
  });
});
