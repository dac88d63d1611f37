import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Module } from "@nestjs/common";
import { NestFactory, type AbstractHttpAdapter } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { OnWebhook, receiverToken, WebhooksModule } from "@svc-webhooks/nest";
import type { Middleware } from "@svc-webhooks/kit/servers";
import type { BodyMiddleware } from "@svc-webhooks/testing/adapter";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
import { bodyMiddlewares } from "./body-middlewares.js";

class Handlers {
  any() {}
}
for (const receiver of bodyMiddlewares) {
  // Decorators are called as functions, because not every bundler of the tests compiles them.
  OnWebhook("*", { receiver })(Handlers.prototype, "any", { value: () => {} });
}

/** Returns the listener of a Nest app that has each middleware in front of a receiver at `/nest-<platform>/<middleware>`. */
export async function nestListener(
  platform: "express" | "fastify",
  middlewares: Readonly<Record<BodyMiddleware, Middleware>>,
): Promise<RequestListener> {
  // oxlint-disable-next-line typescript/no-extraneous-class
  class AppModule {}
  Module({
    imports: bodyMiddlewares.map((name) =>
      WebhooksModule.forRoot({ name, path: `/nest-${platform}/${name}`, secret: "whsec_test" }),
    ),
    providers: [Handlers],
  })(AppModule);
  const adapter: AbstractHttpAdapter =
    platform === "express" ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create(AppModule, adapter, { logger: false });
  for (const name of bodyMiddlewares) {
    // The contract's receiver has its own handlers.
    Object.assign(app.get<object>(receiverToken(name)), { receive: contractReceiver().receive });
  }
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const name = request.url?.split("?")[0]?.split("/").at(-1) as BodyMiddleware;
    return middlewares[name](request, response, next);
  });
  await app.init();
  if (platform === "express") return adapter.getInstance<RequestListener>();
  const fastify = adapter.getInstance<{ ready(): Promise<unknown>; routing: RequestListener }>();
  await fastify.ready();
  return (request, response) => fastify.routing(request, response);
}
