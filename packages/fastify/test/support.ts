import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { webhooks, type WebhooksOptions } from "@svc-webhooks/fastify";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import type { BodyMiddleware, MountAdapter } from "@svc-webhooks/testing/adapter";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { onTestFinished } from "vitest";

/** Listens on a free local port until the test ends. */
export async function listen(app: FastifyInstance): Promise<number> {
  onTestFinished(() => app.close());
  await app.listen({ port: 0, host: "127.0.0.1" });
  return (app.server.address() as AddressInfo).port;
}

interface Setup {
  readonly app?: FastifyInstance;
  /** Adds hooks and plugins that come before the receiver's. */
  readonly before?: (app: FastifyInstance) => unknown;
  readonly options?: Omit<WebhooksOptions, "receiver"> & { readonly prefix?: string };
  readonly receiver?: Parameters<typeof observedReceiver>[0];
}

/** Serves an observed receiver in an app. */
export async function serve({
  app = Fastify({ forceCloseConnections: true }),
  before,
  options,
  receiver,
}: Setup = {}) {
  const observed = observedReceiver(receiver);
  await before?.(app);
  app.register(webhooks, { receiver: observed.receiver, ...options });
  return { ...observed, app, port: await listen(app) };
}

/** The hooks that run before the adapter. They keep bytes where plugins of Fastify do. */
const hooks: Readonly<Record<BodyMiddleware, (request: FastifyRequest) => unknown>> = {
  none: () => {},
  async parses(request) {
    request.body = JSON.parse(String(await buffer(request.raw)));
  },
  async buffers(request) {
    Object.assign(request, { rawBody: await buffer(request.raw) });
  },
  async truncates(request) {
    Object.assign(request, { rawBody: (await buffer(request.raw)).subarray(0, -1) });
  },
};

/** Mounts the plugin for the contract of adapters, in an app of its own for each case. */
export const mountIn =
  (create: typeof Fastify, plugin: typeof webhooks): MountAdapter =>
  async (receiver, bodyMiddleware) => {
    const app = create({ bodyLimit: 1, forceCloseConnections: true });
    app.addHook("onRequest", async (request) => {
      await hooks[bodyMiddleware](request);
    });
    app.register(plugin, { receiver, drainMs: 0 });
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url: `${origin}/webhooks`, close: () => app.close() };
  };
