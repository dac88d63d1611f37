import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

export interface Deployed {
  /** The module that is deployed. */
  readonly code: string;
  /** Node's own modules are there on Node and nowhere else. */
  readonly on?: "worker" | "node";
  /** What is not counted. */
  readonly beside?: RegExp;
}

const conditionNames = {
  worker: ["workerd", "worker", "browser", "import"],
  node: ["node", "import"],
};

// Nothing is there: it only says from where packages are found.
const entry = fileURLToPath(new URL("../../deployed.js", import.meta.url));

/** How many bytes are sent for a module and all that it imports, minified and gzipped. */
export const gzippedBytes = async (deployed: Deployed): Promise<number> =>
  gzipSync(await bundled(deployed), { level: 9 }).length;

/** A module and all that it imports, minified. */
export async function bundled({ code, on = "worker", beside }: Deployed): Promise<string> {
  const bundle = await rolldown({
    input: entry,
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? code : undefined),
      },
    ],
    resolve: { conditionNames: conditionNames[on] },
    platform: on === "node" ? "node" : "browser",
    external: beside ?? [],
    onLog(_level, { code: kind, message }) {
      // What is not found is left out, and the figure would be too good.
      if (kind === "UNRESOLVED_IMPORT") throw new Error(message);
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
  await bundle.close();
  return output[0].code;
}
