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

interface Bundle {
  /** The size in bytes, minified and gzipped (level 9). */
  readonly bytes: number;
  /** The code of each file that remains in the bundle, without comments and not minified. */
  readonly modules: readonly (readonly [file: string, code: string])[];
}

/** Resolves to the gzipped size in bytes of a module with all its imports except frameworks. */
export const gzippedBytes = async (code: string, target: Target): Promise<number> =>
  (await bundle(code, target)).bytes;

/**
 * Bundles a module with all its imports except frameworks.
 *
 * @throws Error (as a rejection) if an import cannot be found, because the size would be too small without it
 */
export async function bundle(code: string, target: Target): Promise<Bundle> {
  const bundled = await rolldown({
    input: entry,
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? code : undefined),
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
  const [{ code: minified, modules }] = output;
  return {
    bytes: gzipSync(minified, { level: 9 }).length,
    modules: Object.entries(modules).map(([file, { code: kept }]) => [file, withoutComments(kept)]),
  };
}

const withoutComments = (code: string | null) =>
  (code ?? "").replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "").replaceAll(/^\s+/gm, "");
