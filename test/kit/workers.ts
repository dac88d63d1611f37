import { Miniflare, type MiniflareOptions } from "miniflare";
import { rolldown, type OutputChunk } from "rolldown";

/** Runs a module Worker in Cloudflare's own runtime, without the Node compatibility flag. */
export const workerd = (script: string, options: Partial<MiniflareOptions> = {}): Miniflare =>
  // Miniflare types its options as a union of one Worker and several.
  new Miniflare({
    modules: true,
    script,
    compatibilityDate: "2025-06-01",
    host: "127.0.0.1",
    port: 0,
    cf: false,
    ...options,
  } as MiniflareOptions);

/**
 * Returns a Worker's only chunk, minified, as it is deployed. Packages that match `external` are not part of
 * it.
 */
export async function deployedChunk(input: string, external: RegExp): Promise<OutputChunk> {
  const bundle = await rolldown({
    input,
    resolve: { conditionNames: ["workerd", "worker", "browser", "import"] },
    platform: "browser",
    external,
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  const [chunk, ...others] = output;
  if (others.length > 0) throw new Error("The Worker has several chunks.");
  return chunk;
}
