import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

const conditionNames = {
  worker: ["workerd", "worker", "browser", "import"],
  node: ["node", "import"],
};

// The file does not exist. Its path is where the search for packages begins.
const entry = fileURLToPath(new URL("../deployed.js", import.meta.url));

/**
 * The size of a module with all its imports except frameworks, minified and gzipped (level 9).
 *
 * @throws Error if an import cannot be found: without it the size would be too small
 */
export async function gzippedBytes(
  code: string,
  target: keyof typeof conditionNames,
): Promise<number> {
  const bundle = await rolldown({
    input: entry,
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? code : undefined),
      },
    ],
    resolve: { conditionNames: conditionNames[target] },
    platform: target === "node" ? "node" : "browser",
    external: /^(?:hono|next)(?:\/|$)/,
    onLog(_level, { code: kind, message }) {
      if (kind === "UNRESOLVED_IMPORT") throw new Error(message);
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
  await bundle.close();
  return gzipSync(output[0].code, { level: 9 }).length;
}
