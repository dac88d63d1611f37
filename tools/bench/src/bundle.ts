import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

const conditionNames = {
  worker: ["workerd", "worker", "browser", "import"],
  node: ["node", "import"],
};

// This file does not exist. The search for packages starts at its path.
const entry = fileURLToPath(new URL("../deployed.js", import.meta.url));

export type Target = keyof typeof conditionNames;

/**
 * Resolves to the size in bytes of a module with all its imports except frameworks, minified and gzipped (level 9).
 *
 * @param leftOut the files whose exports are replaced by empty functions
 * @throws Error (as a rejection) if an import cannot be found, because the size would be too small without it
 */
export async function gzippedBytes(
  code: string,
  target: Target,
  leftOut?: RegExp,
): Promise<number> {
  const bundled = await rolldown({
    input: entry,
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === entry ? id : undefined),
        async load(id) {
          if (id === entry) return code;
          return leftOut?.test(id) ? emptied(await readFile(id, "utf8")) : undefined;
        },
      },
    ],
    resolve: { conditionNames: conditionNames[target], extensionAlias: { ".js": [".ts", ".js"] } },
    platform: target === "node" ? "node" : "browser",
    external: /^(?:hono|next)(?:\/|$)/,
    onLog(_level, { code: kind, message }) {
      if (kind === "UNRESOLVED_IMPORT") throw new Error(message);
    },
  });
  const { output } = await bundled.generate({ format: "esm", minify: true, codeSplitting: false });
  await bundled.close();
  return gzipSync(output[0].code, { level: 9 }).length;
}

/** Returns a module with the same exports as this one, all of which are empty functions. */
const emptied = (source: string) =>
  Array.from(
    source.matchAll(/^export (?:async )?(?:class|const|function) (\w+)/gm),
    ([, name]) => `export const ${name} = () => {};`,
  ).join("\n");
