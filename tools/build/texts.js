import { readFileSync } from "node:fs";
import { rolldown } from "rolldown";

/** TypeScript imports name the JavaScript file that a source compiles to. */
export const extensionAlias = { ".js": [".ts", ".tsx"] };

/** Bundles a script for browsers with all its imports, and returns the code. */
async function scriptText(input) {
  const bundle = await rolldown({ input, resolve: { extensionAlias } });
  const { output } = await bundle.generate({ comments: false });
  return output[0].code;
}

/**
 * Resolves a file imported with `?raw` to its text, as vite does. One imported with `?script` is bundled first, and a
 * package.json imported with `?version` is only its version.
 */
export const texts = {
  name: "texts",
  load: async (id) => {
    const [, file, kind] = /^(.+)\?(raw|script|version)$/.exec(id) ?? [];
    if (!file) return undefined;
    if (kind === "version") {
      const { version } = JSON.parse(readFileSync(file, "utf8"));
      return { code: JSON.stringify(version), moduleType: "json", map: { mappings: "" } };
    }
    const text = kind === "raw" ? readFileSync(file, "utf8") : await scriptText(file);
    // A text has nothing to step through.
    return { code: `export default ${JSON.stringify(text)};`, map: { mappings: "" } };
  },
};
