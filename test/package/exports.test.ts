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

/** The manifest's paths for files that the build writes in both formats. */
function formats(file: string): object {
  return {
    import: { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
    require: { types: `./dist/${file}.d.cts`, default: `./dist/${file}.cjs` },
  };
}

test.each(inBothFormats)("$name has each entry as ESM and CommonJS, with types", ({ manifest }) => {
  const { "./package.json": self, ...exported } = manifest.exports ?? {};
  const written = Object.entries(exported).map(([entry, conditions]) => {
    const [, file = ""] = /"\.\/dist\/([\w/-]+)\.js"/.exec(JSON.stringify(conditions)) ?? [];
    return { entry: entry.replace(/^\.\/?/, ""), file, conditions };
  });
  expect(self).toBe("./package.json");
  // TypeScript takes the first condition that matches, so the order counts.
  expect(written.map(({ conditions }) => JSON.stringify(conditions))).toEqual(
    written.map(({ file }) => JSON.stringify(formats(file))),
  );
  const [main, ...others] = written;
  // `node10` does not read `exports`.
  const types = others.map(({ entry, file }) => [entry, [`./dist/${file}.d.cts`]]);
  expect(manifest).toMatchObject({
    main: `./dist/${main?.file}.cjs`,
    types: `./dist/${main?.file}.d.cts`,
    ...(types.length > 0 && { typesVersions: { "*": Object.fromEntries(types) } }),
  });
});
