import { createRequire } from "node:module";
import { createReceiver, type Receiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/fastify";
import { send } from "@svc-webhooks/kit/clients";
import { secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { heldHandler, observedReceiver } from "@svc-webhooks/kit/receivers";
import { fakeClock } from "@svc-webhooks/testing";
import Fastify, { type FastifyInstance } from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen, serve } from "./support.js";

interface Line {
  readonly msg: string;
  readonly pending?: number;
  readonly code?: string;
  readonly receiver?: string;
}

/** Creates an app that logs to a list. */
function loggingApp() {
  const lines: Line[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Line) };
  const app = Fastify({ logger: { level: "warn", stream }, forceCloseConnections: true });
  return { app, lines };
}

const on = { "*": () => {} };
const receiver = createReceiver({ secret, on });
const builds = {
  "the ES module": webhooks,
  "the CommonJS build": (
    createRequire(import.meta.url)("@svc-webhooks/fastify") as { webhooks: typeof webhooks }
  ).webhooks,
};

describe.each(Object.entries(builds))("options of %s", (_name, plugin) => {
  test.each<[string, object, string, string]>([
    ["no receiver", {}, "invalid_option", "receiver"],
    ["options in place of a receiver", { receiver: { secret, on } }, "invalid_option", "receiver"],
    ["no drain", { receiver: { receive: receiver.receive } }, "invalid_option", "receiver"],
    ["a function without a result", { receiver: () => {} }, "invalid_option", "receiver"],
    ["a promise of an object", { receiver: async () => ({}) }, "invalid_option", "receiver"],
    ["the receiver itself", receiver, "unknown_option", "receive"],
    ["a misspelled option", { receiver, pth: "/" }, "unknown_option", "pth"],
    ["a path without a slash", { receiver, path: "hooks" }, "invalid_option", "path"],
    ["a path with a query", { receiver, path: "/w?x=1" }, "invalid_option", "path"],
    ["a path with a space", { receiver, path: "/we bhooks" }, "invalid_option", "path"],
    ["an encoded path", { receiver, path: "/my%20hooks" }, "invalid_option", "path"],
    ["a path that is not a string", { receiver, path: 1 }, "invalid_option", "path"],
    ["a negative drainMs", { receiver, drainMs: -1 }, "invalid_option", "drainMs"],
    ["a fractional drainMs", { receiver, drainMs: 1.5 }, "invalid_option", "drainMs"],
    ["a drainMs of 2^31", { receiver, drainMs: 2 ** 31 }, "invalid_option", "drainMs"],
    ["a text as drainMs", { receiver, drainMs: "1" }, "invalid_option", "drainMs"],
  ])("%s rejects app.ready()", async (_title, options, code, option) => {
    const app = Fastify();
    app.register(plugin, options as never);
    const error: unknown = await app.ready().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: "ConfigError", code, option });
    expect(String(error)).not.toContain(secret);
  });

  test("are passed to register(): a call as for Express throws", () => {
    expect(() => plugin(receiver as never, undefined as never)).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        option: "app",
      }),
    );
  });

  test("may include those that Fastify has for the routes of a plugin", async () => {
    const app = Fastify();
    const own = { prefix: "/a", logLevel: "silent" as const, logSerializers: {} };
    app.register(plugin, { receiver, path: "/b", drainMs: 2 ** 31 - 1, ...own });
    await app.ready();
    expect(app.hasRoute({ method: "POST", url: "/a/b" })).toBe(true);
  });
});

describe("a function that returns the receiver", () => {
  test.each<[string, (app: FastifyInstance) => Receiver | Promise<Receiver>]>([
    ["the receiver", () => observedReceiver().receiver],
    ["a promise of it", async () => observedReceiver().receiver],
  ])("may return %s", async (_kind, create) => {
    const app = Fastify();
    app.register(webhooks, { receiver: create });
    const port = await listen(app);
    expect((await send(port, await signed())).code).toBe("processed");
  });

  test("receives the instance, with decorators of earlier plugins and the logger", async () => {
    const { app, lines } = loggingApp();
    app.decorate("database", { secret });
    app.register(webhooks, {
      receiver: (instance) =>
        createReceiver({
          name: "billing",
          secret: instance.getDecorator<{ secret: string }>("database").secret,
          on,
          logger: instance.log,
        }),
    });
    const port = await listen(app);
    expect((await send(port, await signed())).code).toBe("processed");
    expect((await send(port, unsigned())).code).toBe("signature_missing");
    expect(lines).toEqual([
      expect.objectContaining({ receiver: "billing", code: "signature_missing" }),
    ]);
  });

  test.each<[string, () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new Error("no database");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no database"))],
  ])("rejects app.ready() with its error if it %s", async (_how, create) => {
    const app = Fastify();
    app.register(webhooks, { receiver: create });
    await expect(app.ready()).rejects.toThrow("no database");
  });

  test("may create an invalid receiver, whose error rejects app.ready()", async () => {
    const app = Fastify();
    app.register(webhooks, { receiver: () => createReceiver({ secret: "", on }) });
    await expect(app.ready()).rejects.toMatchObject({ code: "invalid_secret", option: "secret" });
  });
});

describe("app.close()", () => {
  test("sends the response of a running delivery", async () => {
    const { on: held, started, finish } = heldHandler();
    const { app, port } = await serve({ app: Fastify(), receiver: { on: held } });
    const reply = send(port, await signed());
    await started;
    const closed = app.close();
    finish();
    expect(await reply).toMatchObject({ status: 200, code: "processed" });
    await closed;
    await expect(send(port, await signed())).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("waits for a handler whose sender has its response, and then closes earlier plugins", async () => {
    const order: string[] = [];
    const { on: held, started, finish } = heldHandler();
    const clock = fakeClock();
    const { app, port } = await serve({
      before(instance) {
        instance.register(async (database) => {
          database.addHook("onClose", async () => void order.push("the database closes"));
        });
        instance.addHook("preClose", async () => void order.push("the server closes"));
      },
      receiver: {
        clock,
        on: { "*": async () => held["*"]().then(() => void order.push("the handler ends")) },
      },
    });
    const reply = send(port, await signed());
    await started;
    await clock.advance(60_000);
    expect((await reply).status).toBe(503);
    const closed = app.close();
    // The server has closed once it refuses connections. A drain that did not wait would have ended by then.
    await expect
      .poll(() => send(port, unsigned()).catch((error: { code: string }) => error.code))
      .toBe("ECONNREFUSED");
    finish();
    await closed;
    expect(order).toEqual(["the server closes", "the handler ends", "the database closes"]);
  });

  test("logs how many deliveries are still pending after drainMs", async () => {
    const { on: held, started, finish } = heldHandler();
    onTestFinished(() => finish());
    const { app, lines } = loggingApp();
    const { port } = await serve({ app, options: { drainMs: 0 }, receiver: { on: held } });
    const reply = send(port, await signed()).catch(() => "disconnected");
    await started;
    await app.close();
    expect(await reply).toBe("disconnected");
    expect(lines).toEqual([
      expect.objectContaining({
        pending: 1,
        msg:
          "svc-webhooks: deliveries still pending after drainMs (0 ms): 1. If the process exits, later attempts " +
          "will run them.",
      }),
    ]);
  });

  test("logs nothing if no delivery is pending, even if the app has not listened", async () => {
    const { app, lines } = loggingApp();
    app.register(webhooks, { receiver });
    await app.ready();
    await app.close();
    expect(lines).toEqual([]);
  });
});
