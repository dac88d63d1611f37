import { readFileSync } from "node:fs";
import { rolldown } from "rolldown";

/** TypeScript names the JavaScript that it becomes. */
export const extensionAlias = { ".js": [".ts", ".tsx"] };

/** The code of a script for browsers, with all that it imports. */
async function scriptText(input) {
  const bundle = await rolldown({ input, resolve: { extensionAlias } });
  const { output } = await bundle.generate({ comments: false });
  return output[0].code;
}

/** A file imported with `?raw` is its text, as in vite. One imported with `?script` is bundled first. */
export const texts = {
  name: "texts",
  load: async (id) => {
    const [, file, kind] = /^(.+)\?(raw|script)$/.exec(id) ?? [];
    if (!file) return undefined;
    const text = kind === "raw" ? readFileSync(file, "utf8") : await scriptText(file);
    // Nothing to step through.
    return { code: `export default ${JSON.stringify(text)};`, map: { mappings: "" } };
  },
};
