import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { collected } from "@svc-webhooks/kit/collected";
import { bundled, spawned, type Served } from "@svc-webhooks/kit/launch";
import { workerd as startWorker } from "@svc-webhooks/kit/workers";
import { createHandler, EdgeRuntime } from "edge-runtime";
import { rolldown } from "rolldown";
import { isPackage } from "../../tools/build/is-package.js";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Bundles a `serve/*.ts` into one script, for runtimes that resolve packages by themselves. */
export async function script(name: string): Promise<string> {
  const bundle = await rolldown({ input: `${here}serve/${name}.ts`, external: isPackage });
  const file = `${here}.build/${name}.mjs`;
  await bundle.write({ file });
  return file;
}

export const hostNode = async (): Promise<Served> =>
  spawned(process.execPath, await script("node"));

export async function workerd(): Promise<Served> {
  let output = () => "";
  const worker = startWorker(await bundled(`${here}serve/workerd.ts`, "workerd"), {
    handleRuntimeStdio(...streams: readonly Readable[]) {
      output = collected(...streams);
    },
  });
  const { origin } = await worker.ready;
  return { origin, close: () => worker.dispose(), printed: () => output() };
}

/** Starts Vercel's edge runtime: no `process`, no `Buffer`, nothing of Node. */
export async function edge(): Promise<Served> {
  const initialCode = await bundled(`${here}serve/edge.ts`, "edge-light");
  const server = createServer(createHandler({ runtime: new EdgeRuntime({ initialCode }) }).handler);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
