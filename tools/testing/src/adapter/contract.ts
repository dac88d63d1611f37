import type { Receiver } from "@svc-webhooks/core";
import type { TestRunner } from "../runner.js";
import { adapterCases } from "./cases.js";
import type { BodyMiddleware } from "./body-middleware.js";
import { contractReceiver } from "./contract-receiver.js";
import { Probe } from "./probe.js";

export interface MountedAdapter {
  /** The URL that receives deliveries, `http://host:port/path`. */
  readonly url: string;
  /** Called and awaited after each case. */
  readonly close?: (() => unknown) | undefined;
}

/**
 * Mounts the adapter under test for all HTTP methods, behind `bodyMiddleware`, and serves it over HTTP. The contract
 * calls this function for each case. If the server runs in another process, ignore `receiver` and let the server create
 * its own `contractReceiver()` for each `bodyMiddleware`.
 */
export type MountAdapter = (
  receiver: Receiver,
  bodyMiddleware: BodyMiddleware,
) => MountedAdapter | Promise<MountedAdapter>;

/**
 * Registers the tests that every adapter must pass, one for each known mistake in handling requests and
 * responses: `adapterContract({ describe, it }, "my adapter", mount)`.
 *
 * The tests run on Node; the adapter may run on any runtime.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { describe, it } from "node:test";
 * import { webhooks } from "svc-webhooks/node";
 * import { adapterContract } from "@svc-webhooks/testing/adapter";
 *
 * adapterContract({ describe, it }, "my adapter", async (receiver, bodyMiddleware) => {
 *   const adapter = webhooks(receiver);
 *   const server = createServer(async (request, response) => {
 *     const chunks: Uint8Array[] = [];
 *     if (bodyMiddleware !== "none") for await (const chunk of request) chunks.push(chunk as Uint8Array);
 *     const bytes = Buffer.concat(chunks);
 *     if (bodyMiddleware === "parses") Object.assign(request, { body: JSON.parse(bytes.toString()) });
 *     if (bodyMiddleware === "buffers") Object.assign(request, { rawBody: bytes });
 *     if (bodyMiddleware === "truncates") Object.assign(request, { rawBody: bytes.subarray(0, -1) });
 *     await adapter(request, response);
 *   });
 *   await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
 *   const address = server.address();
 *   const port = typeof address === "object" ? address?.port : undefined;
 *   return { url: `http://127.0.0.1:${port}/webhooks`, close: () => server.close() };
 * });
 * ```
 */
export function adapterContract(
  { describe, it }: TestRunner,
  name: string,
  mount: MountAdapter,
): void {
  describe(name, () => {
    for (const { title, bodyMiddleware = "none", run } of adapterCases) {
      it(title, async () => {
        const { url, close } = await mount(contractReceiver(), bodyMiddleware);
        try {
          await run(new Probe(url));
        } finally {
          await close?.();
        }
      });
    }
  });
}
