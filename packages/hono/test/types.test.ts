import { createReceiver, type UnknownEvent } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono, type Context } from "hono";
import { hc } from "hono/client";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

// tsc checks these types. The tests also run, so that they do not go stale.

interface Worker {
  Bindings: { SECRET: string };
  Variables: { tenant: number };
}

const receiverOf = (secret: string) => createReceiver({ secret, on: { "*": () => {} } });
const receiver = receiverOf("whsec_test");

test("the function's context has the app's bindings and variables without an annotation", () => {
  const app = new Hono<Worker>().post(
    "/",
    webhooks((c) => {
      expectTypeOf(c.env).toEqualTypeOf<{ SECRET: string }>();
      expectTypeOf(c.get("tenant")).toEqualTypeOf<number>();
      expectTypeOf(c.var.tenant).toEqualTypeOf<number>();
      return receiverOf(c.env.SECRET);
    }),
  );
  expect(app.routes).toHaveLength(1);
});

test("a binding that the app does not have is a type error", () => {
  const app = new Hono<Worker>().post(
    "/",
    webhooks((c) =>
      // @ts-expect-error: the binding is SECRET, not SECRETS
      receiverOf(c.env.SECRETS),
    ),
  );
  expect(app.routes).toHaveLength(1);
});

test("the handlers of a receiver in the function infer their events from the schemas", () => {
  const sent = z.object({ type: z.literal("email.sent"), count: z.string().transform(Number) });
  const app = new Hono<Worker>().post(
    "/",
    webhooks((c) =>
      createReceiver({
        secret: c.env.SECRET,
        events: { "email.sent": sent },
        on: {
          "email.sent": (event, { signal }) => {
            expectTypeOf(event).toEqualTypeOf<{ type: "email.sent"; count: number }>();
            expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
          },
          "*": async (event) => {
            expectTypeOf(event).toEqualTypeOf<
              UnknownEvent<{ type: "email.sent"; count: number }>
            >();
          },
        },
      }),
    ),
  );
  expect(app.routes).toHaveLength(1);
});

test("the function may be defined separately, for the app's environment or for any", () => {
  const forWorker = (c: Context<Worker>) => receiverOf(c.env.SECRET);
  const forAny = () => receiver;
  const app = new Hono<Worker>().post("/a", webhooks(forWorker)).post("/b", webhooks(forAny));
  expect(app.routes).toHaveLength(2);
});

test("a function that returns a promise of a receiver is a type error", () => {
  const promising = webhooks(async () => receiver);
  const app = new Hono<Worker>();
  // @ts-expect-error: the function must return a receiver
  app.post("/", promising);
  expect(app.routes).toHaveLength(1);
});

test("a receiver can be mounted in every app and by every method", () => {
  const handler = webhooks(receiver);
  const apps = [
    new Hono().post("/", handler),
    new Hono<Worker>().post("/", handler),
    new Hono<Worker>().post("/", webhooks(receiver)),
    new Hono<Worker>().post(webhooks(receiver)),
    new Hono<Worker>().all("/", webhooks(receiver)),
    new Hono<Worker>().use("/", webhooks(receiver)),
    new Hono<Worker>().on(["POST", "PUT"], "/", webhooks(receiver)),
    new Hono<Worker>().on("POST", ["/", "/webhooks/:tenant"], webhooks(receiver)),
    new Hono<Worker>().basePath("/hooks").post("/:tenant", webhooks(receiver)),
    new Hono<Worker>().route("/hooks", new Hono<Worker>().post("/", webhooks(receiver))),
    new Hono<Worker>().route("/hooks", new Hono().post("/", webhooks(receiver))),
  ];
  expect(apps.every(({ routes }) => routes.length > 0)).toBe(true);
});

test("middleware in front of the handler and the function both keep their types", () => {
  const app = new Hono<Worker>().post(
    "/:tenant",
    async (c, next) => {
      expectTypeOf(c.req.param("tenant")).toEqualTypeOf<string>();
      expectTypeOf(c.env.SECRET).toEqualTypeOf<string>();
      c.set("tenant", 1);
      await next();
    },
    webhooks((c) => {
      expectTypeOf(c.env.SECRET).toEqualTypeOf<string>();
      return receiverOf(c.env.SECRET);
    }),
  );
  expect(app.routes).toHaveLength(2);
});

test("the types of a chained app continue after the handler", () => {
  const app = new Hono<Worker>()
    .get("/health", (c) => c.json({ ok: true }))
    .post("/webhooks", webhooks(receiver))
    .get("/count", (c) => c.json({ count: c.var.tenant }));
  const client = hc<typeof app>("http://localhost");
  const health = async () => (await client.health.$get()).json();
  const count = async () => (await client.count.$get()).json();
  expectTypeOf(health).returns.resolves.toEqualTypeOf<{ ok: true }>();
  expectTypeOf(count).returns.resolves.toEqualTypeOf<{ count: number }>();
  expectTypeOf(client.webhooks.$post).toBeFunction();
  expect(client.webhooks.$url().pathname).toBe("/webhooks");
});
