import type { RequestListener } from "node:http";
import { Controller, Get, Injectable, Module, type Type } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { webhooks } from "@svc-webhooks/fastify";
import { OnWebhook, WebhooksModule } from "@svc-webhooks/nest";
import { createReceiver } from "@svc-webhooks/core";
import fastify from "fastify";
import { eventType, secret } from "../deliveries.js";
import type { Bar } from "../race.js";
import { otherPath } from "./load.js";
import type { Handle } from "./platforms.js";

const without = "without svc-webhooks";
const lane = "with svc-webhooks";

/** The bars of requests that are not deliveries, for the frameworks whose adapters see every request. */
export const otherRequestBars: readonly Bar[] = [{ lane, against: without, atLeast: 0.97, aim: 1 }];

/** Functions that create an app with a route at `otherPath`, and one receiver or none. */
export const otherRequests: Readonly<
  Record<string, Readonly<Record<string, (handle: Handle) => Promise<RequestListener>>>>
> = {
  "Fastify 5": {
    [without]: () => fastifyApp(),
    [lane]: (handle) => fastifyApp(handle),
  },
  "Nest 12 on Express": {
    [without]: () => nestApp(),
    [lane]: (handle) => nestApp(handle),
  },
};

async function fastifyApp(handle?: Handle): Promise<RequestListener> {
  const app = fastify();
  if (handle) {
    const receiver = createReceiver({ secret, on: { [eventType]: handle } });
    await app.register(webhooks, { receiver });
  }
  app.get(otherPath, async () => ({ status: "OK" }));
  await app.ready();
  return (request, response) => app.routing(request, response);
}

// Decorators are called as functions, because the bench is compiled without them.
function decorate(
  { prototype }: Type,
  method: string,
  decorator: (prototype: object, method: string, descriptor: PropertyDescriptor) => void,
): void {
  decorator(prototype, method, Object.getOwnPropertyDescriptor(prototype, method) ?? {});
}

async function nestApp(handle?: Handle): Promise<RequestListener> {
  class Health {
    status() {
      return { status: "OK" };
    }
  }
  Controller()(Health);
  decorate(Health, "status", Get(otherPath));

  class Handlers {
    handle(event: unknown) {
      return handle?.(event);
    }
  }
  Injectable()(Handlers);
  decorate(Handlers, "handle", OnWebhook(eventType));

  // oxlint-disable-next-line typescript/no-extraneous-class -- Nest's modules are classes
  class App {}
  const receives = handle && {
    imports: [WebhooksModule.forRoot({ path: "/webhooks", secret })],
    providers: [Handlers],
  };
  Module({ controllers: [Health], ...receives })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.init();
  return app.getHttpAdapter().getInstance() as RequestListener;
}
