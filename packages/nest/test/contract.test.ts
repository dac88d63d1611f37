import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { Injectable, Module } from "@nestjs/common";
import { NestFactory, type AbstractHttpAdapter } from "@nestjs/core";
import type { Receiver } from "@svc-webhooks/core";

import { adapterContract, type BodyMiddleware } from "@svc-webhooks/testing/adapter";
import { describe, it } from "vitest";
import { OnWebhook, receiverToken, WebhooksModule } from "@svc-webhooks/nest";
import { platforms } from "./nest-app.js";

@Injectable()
class Handlers {
  @OnWebhook("*")
  any() {}
}

/** The middleware that runs before the receiver. Nest's own parsers run after it. */
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

describe.each(platforms)("on $platform", ({ platform, adapter }) => {
  adapterContract({ describe, it }, `Nest on ${platform}`, async (receiver, bodyMiddleware) => {
    const webhooks = WebhooksModule.forRoot({
      path: "/webhooks",
      secret: "whsec_test",
      drainMs: 0,
    });
    @Module({ imports: [webhooks], providers: [Handlers] })
    class AppModule {}

    const http: AbstractHttpAdapter = adapter();
    const app = await NestFactory.create(AppModule, http, { logger: false });
    // The contract's receiver has its own handlers.
    Object.assign(app.get<Receiver>(receiverToken()), { receive: receiver.receive });
    if (bodyMiddleware !== "none") {
      app.use(async (request: IncomingMessage, _response: unknown, next: () => void) => {
        await middleware[bodyMiddleware](request);
        next();
      });
    }
    await app.listen(0, "127.0.0.1");
    return {
      url: `${await app.getUrl()}/webhooks`,
      async close() {
        (app.getHttpServer() as { closeAllConnections(): void }).closeAllConnections();
        await app.close();
      },
    };
  });
});
