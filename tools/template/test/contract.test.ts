import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { adapterContract, type BodyMiddleware } from "@svc-webhooks/testing/adapter";
import { describe, it } from "vitest";
import { webhooks } from "../src/index.js";

/**
 * The middleware that runs before the adapter. For a framework's adapter, use that framework's own body parser.
 */
const middleware: Readonly<Record<BodyMiddleware, (request: IncomingMessage) => unknown>> = {
  none: () => {},
  async parses(request) {
    Object.assign(request, { body: JSON.parse(String(await buffer(request))) as unknown });
  },
  async buffers(request) {
    Object.assign(request, { rawBody: await buffer(request) });
  },
  async truncates(request) {
    Object.assign(request, { rawBody: (await buffer(request)).subarray(0, -1) });
  },
};

adapterContract({ describe, it }, "the adapter", async (receiver, bodyMiddleware) => {
  const handler = webhooks(receiver);
  const server = createServer(async (request, response) => {
    await middleware[bodyMiddleware](request);
    await handler(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
});
