#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { isPackage } from "./is-package.js";
import { extensionAlias, texts } from "./texts.js";

/*
 * Builds the package in the current folder: declarations as tsc emits them, and one JavaScript file per entry
 * of its `exports`, `imports` and `bin`, because a starting process pays for each module it loads. The
 * package's dependencies and its own `imports` stay imports.
 *
 * An entry that is named with `.cjs` is also built as CommonJS, with declarations of its own: TypeScript reads
 * from the extension of a declaration which of the two it describes.
 *
 * An entry `name.node.js` is `name.js` for Node alone, with the package's `imports` that Node selects included.
 *
 * The arguments name modules of `src` that the package's main entry exports as a whole, such as `errors`: the other
 * entries import them from the package itself, so that `instanceof` recognizes their errors, and an app does not load
 * them twice.
 */

/** Every JavaScript file under `dist` that a package.json field names, whatever its conditions. */
const builtFiles = (field) =>
  typeof field === "string"
    ? (field.match(/^\.\/dist\/.+\.c?js$/) ?? [])
    : Object.values(field ?? {}).flatMap(builtFiles);

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const files = new Set([manifest.exports, manifest.imports, manifest.bin].flatMap(builtFiles));

rmSync("dist", { recursive: true, force: true });

const tsc = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
const { status } = spawnSync(
  process.execPath,
  [tsc, "-p", "tsconfig.build.json", "--emitDeclarationOnly", "--declarationMap"],
  { stdio: "inherit" },
);
if (status !== 0) process.exit(status ?? 1);

/** The sources of the package's `imports` that Node selects. */
const onNode = Object.fromEntries(
  Object.entries(manifest.imports ?? {}).flatMap(([id, { node }]) =>
    node
      ? [[id, join(process.cwd(), node.import.replace(/^\.\/dist\/(.+)\.js$/, "src/$1.ts"))]]
      : [],
  ),
);

const mainFiles = builtFiles(manifest.exports?.["."]);
const shared = new Set(process.argv.slice(2).map((name) => join(process.cwd(), `src/${name}.ts`)));
const fromIndex = {
  name: "from-index",
  resolveId: (source, importer) =>
    importer && shared.has(join(dirname(importer), source.replace(/\.js$/, ".ts")))
      ? { id: manifest.name, external: true }
      : undefined,
};

for (const file of files) {
  const [, name, isForNode, extension] = /^\.\/dist\/(.+?)(\.node)?\.(c?js)$/.exec(file);
  const alias = isForNode ? onNode : {};
  const bundle = await rolldown({
    input: { [`${name}${isForNode ?? ""}`]: `src/${name}.ts` },
    external: (id) => isPackage(id) && !(id in alias),
    tsconfig: "tsconfig.build.json",
    resolve: { alias, extensionAlias },
    plugins: mainFiles.includes(file) ? [texts] : [fromIndex, texts],
  });
  await bundle.write({
    dir: "dist",
    entryFileNames: `[name].${extension}`,
    format: extension === "cjs" ? "cjs" : "esm",
    strict: true,
    comments: { legal: true },
    sourcemap: true,
    // The tarball contains src, so the maps need not.
    sourcemapExcludeSources: true,
  });
}

if ([...files].some((file) => file.endsWith(".cjs"))) {
  const declarations = readdirSync("dist", { recursive: true }).filter((file) =>
    /\.d\.ts(?:\.map)?$/.test(file),
  );
  for (const file of declarations) {
    const text = readFileSync(join("dist", file), "utf8")
      .replaceAll(/(?<=\bfrom |\bimport\()"(\.[^"]+)\.js"/g, '"$1.cjs"')
      // Renames the map, and the declarations that the map names.
      .replaceAll(/(?<==|"file":")([\w.-]+)\.d\.ts(?=\.map$|")/gm, "$1.d.cts");
    writeFileSync(join("dist", file.replace(".d.ts", ".d.cts")), text);
  }
}
