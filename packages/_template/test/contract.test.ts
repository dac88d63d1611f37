import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { adapterContract, type BodyMiddleware } from "@svc-webhooks/testing";
import { describe, it } from "vitest";
import { webhooks } from "../src/index.js";

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** What runs before the adapter. In an adapter for a framework: that framework's own body parser. */
const middleware: Readonly<Record<BodyMiddleware, (request: IncomingMessage) => unknown>> = {
  none: () => {},
  async parses(request) {
    const body: unknown = JSON.parse((await bytesOf(request)).toString());
    Object.assign(request, { body });
  },
  async buffers(request) {
    Object.assign(request, { rawBody: await bytesOf(request) });
  },
  async truncates(request) {
    Object.assign(request, { rawBody: (await bytesOf(request)).subarray(0, -1) });
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
