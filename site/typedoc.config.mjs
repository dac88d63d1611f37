import { fileURLToPath } from "node:url";
import { facade, importedAs } from "../tools/build/facade.js";
import { publicPackages } from "../tools/build/package-folders.js";

const root = new URL("..", import.meta.url);

/** Returns the source of an entry, from the declaration that the manifest names for it. */
function sourceOf(folder, entry) {
  const declaration = JSON.stringify(entry).match(/\.\/dist\/([^"]+)\.d\.ts/);
  if (!declaration) throw new Error(`An entry of ${folder} names no declaration.`);
  return fileURLToPath(new URL(`${folder}/src/${declaration[1]}.ts`, root));
}

/**
 * The entries of the public packages: the source of each, by the name under which users import it. The sources of the
 * facade only re-export others.
 */
export const entries = new Map(
  publicPackages
    .filter(({ manifest }) => manifest.name !== facade)
    .flatMap(({ folder, manifest: { name, exports = {} } }) =>
      Object.entries(exports)
        .filter(([path]) => path !== "./package.json")
        .map(([path, entry]) => [importedAs(name + path.slice(1)), sourceOf(folder, entry)]),
    ),
);

/** @type {Partial<import("typedoc").TypeDocOptions & import("typedoc-plugin-markdown").PluginOptions>} */
export default {
  plugin: ["typedoc-plugin-markdown", "./typedoc-names.mjs"],
  tsconfig: "tsconfig.api.json",
  entryPoints: [...entries.values()],
  out: "api",
  name: "API reference",
  router: "module",
  readme: "none",
  // The compiler checks the sources in `npm run check`.
  skipErrorChecking: true,
  treatWarningsAsErrors: true,
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  excludeExternals: true,
  excludePrivate: true,
  disableSources: true,
  groupOrder: ["Functions", "Classes", "Variables", "Interfaces", "Type Aliases"],
  modulesFileName: "index",
  entryFileName: "index",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useHTMLAnchors: true,
  useCodeBlocks: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "list",
};
