import { createReceiver, type Logger, type Receiver } from "@svc-webhooks/core";
import { webhooks, type WebhooksOptions } from "@svc-webhooks/fastify";
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { pino } from "pino";
import { expect, expectTypeOf, test } from "vitest";

// tsc checks these types. The tests also run, so that they do not go stale.

const secret = "whsec_test";
const on = { "*": () => {} };
const receiver = createReceiver({ secret, on });

test("the loggers of Fastify and pino are loggers of a receiver", () => {
  expectTypeOf<FastifyBaseLogger>().toExtend<Logger>();
  expectTypeOf<FastifyInstance["log"]>().toExtend<Logger>();
  expectTypeOf(pino()).toExtend<Logger>();
  expect(createReceiver({ secret, on, logger: Fastify().log })).toBeDefined();
});

test("the plugin can be registered in every kind of instance", async () => {
  const apps = [
    Fastify(),
    Fastify({ logger: true }),
    Fastify({ loggerInstance: pino({ level: "silent" }) }),
  ] as const;
  apps[0].register(webhooks, { receiver });
  apps[1].register(webhooks, { receiver, prefix: "/hooks", logLevel: "silent" });
  // The second function returns the options.
  apps[2].register(webhooks, () => ({ receiver: async () => receiver }));
  const http2 = Fastify({ http2: true });
  http2.register(webhooks, { receiver: (app) => createReceiver({ secret, on, logger: app.log }) });
  await Promise.all([...apps, http2].map((app) => app.ready()));
  await Promise.all([...apps, http2].map((app) => app.close()));
  expect(http2.version).toMatch(/^5\./);
});

test("the function receives the instance, and returns a receiver or a promise of one", () => {
  const source: WebhooksOptions["receiver"] = (app) => {
    expectTypeOf(app).toEqualTypeOf<FastifyInstance>();
    return receiver;
  };
  expectTypeOf<() => Promise<Receiver>>().toExtend<WebhooksOptions["receiver"]>();
  expectTypeOf<Pick<Receiver, "receive" | "drain">>().toExtend<WebhooksOptions["receiver"]>();
  expect(source).toBeTypeOf("function");
});

test("a misspelled option, a missing receiver and options in its place do not compile", () => {
  const register = () => {
    const app = Fastify();
    // @ts-expect-error: the option is `path`
    app.register(webhooks, { receiver, pth: "/webhooks" });
    // @ts-expect-error: `receiver` is missing
    app.register(webhooks, { path: "/webhooks" });
    // @ts-expect-error: options are not a receiver
    app.register(webhooks, { receiver: { secret, on } });
    // @ts-expect-error: the function does not return a receiver
    app.register(webhooks, { receiver: () => {} });
  };
  expect(register).toBeTypeOf("function");
});
