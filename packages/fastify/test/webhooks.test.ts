import { createHook } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { buffer } from "node:stream/consumers";
import { createGunzip, gzipSync } from "node:zlib";
import { webhooks } from "@svc-webhooks/fastify";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned, type TestDelivery } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { describe, expect, test } from "vitest";
import { listen, serve } from "./support.js";

test("processes a delivery once and refuses a forged one", async () => {
  const { port } = await serve();
  expect(await send(port, await signed())).toMatchObject({ status: 200, code: "processed" });
  expect(await send(port, await signed())).toMatchObject({ status: 200, code: "duplicate" });
  expect(await send(port, await signed(eventBody(), {}, "whsec_wrong"))).toMatchObject({
    status: 401,
    code: "signature_mismatch",
  });
});

test("serves `path` below `prefix`, and leaves all other paths to the app", async () => {
  const { port } = await serve({ options: { prefix: "/hooks", path: "/mail" } });
  expect((await send(port, await signed(), { path: "/hooks/mail" })).code).toBe("processed");
  for (const path of ["/mail", "/hooks", "/webhooks", "/hooks/mail/1"]) {
    expect(await send(port, await signed(), { path })).toMatchObject({ status: 404 });
  }
});

test.each([true, false])(
  "responds to all methods itself, with exposeHeadRoutes: %s",
  async (exposeHeadRoutes) => {
    const app = Fastify({ exposeHeadRoutes, forceCloseConnections: true });
    const { port, codes } = await serve({ app });
    for (const method of ["GET", "OPTIONS", "PUT", "PATCH", "DELETE"]) {
      const reply = await send(port, unsigned(""), { method });
      expect(reply).toMatchObject({ status: 405, code: "method_not_allowed" });
    }
    expect(await send(port, unsigned(""), { method: "HEAD" })).toMatchObject({
      status: 405,
      text: "",
    });
    expect(codes()).toEqual(Array.from({ length: 6 }, () => "method_not_allowed"));
  },
);

test("the rest of the app keeps its parsers and limits, which do not apply to deliveries", async () => {
  const app = Fastify({ bodyLimit: 20, forceCloseConnections: true });
  app.post("/json", async ({ body }) => body);
  const { port } = await serve({ app });
  const json = await send(port, unsigned('{"a":1}'), { path: "/json" });
  expect(json).toMatchObject({ status: 200, text: '{"a":1}' });
  expect(await send(port, unsigned(), { path: "/json" })).toMatchObject({ status: 413 });
  const headers = { "content-type": "text/x-unknown" };
  expect((await send(port, await signed(eventBody(), headers))).code).toBe("processed");
});

test("receivers on different paths are separate, and a path cannot be used twice", async () => {
  const { app, port } = await serve({
    before: (instance) =>
      instance.register(webhooks, {
        path: "/other",
        receiver: observedReceiver({ secret: "whsec_other" }).receiver,
      }),
  });
  const other = await signed(eventBody(), {}, "whsec_other");
  expect((await send(port, await signed())).code).toBe("processed");
  expect((await send(port, other, { path: "/other" })).code).toBe("processed");
  expect((await send(port, other)).code).toBe("signature_mismatch");

  const twice = Fastify();
  for (const _ of [1, 2]) twice.register(webhooks, { receiver: observedReceiver().receiver });
  await expect(twice.ready()).rejects.toMatchObject({ code: "FST_ERR_DUPLICATED_ROUTE" });
  expect(app.hasPlugin("@svc-webhooks/fastify")).toBe(true);
});

test("is tested with app.inject()", async () => {
  const app = Fastify();
  app.register(webhooks, { receiver: observedReceiver().receiver });
  const inject = async ({ headers, body: payload }: TestDelivery) => {
    const sent = { url: "/webhooks", headers: headers as Record<string, string>, payload };
    const response = await app.inject({ method: "POST", ...sent });
    return [response.statusCode, response.json<unknown>()];
  };
  expect(await inject(await signed())).toEqual([200, { status: "processed" }]);
  expect(await inject(await signed())).toEqual([200, { status: "duplicate" }]);
  expect(await inject(unsigned())).toMatchObject([401, { error: { code: "signature_missing" } }]);
});

describe("a body that a hook has read", () => {
  const reads = (app: FastifyInstance, keep: boolean) =>
    app.addHook("onRequest", async (request) => {
      const rawBody = await buffer(request.raw);
      if (keep) Object.assign(request, { rawBody });
    });

  test("is unavailable, and the logged line states the fix", async () => {
    const { port, lines } = await serve({ before: (app) => reads(app, false) });
    expect((await send(port, await signed())).code).toBe("body_unavailable");
    expect(lines).toEqual([
      expect.stringContaining(
        "body_unavailable: the request stream has been read before; in Fastify, let the onRequest hook that reads " +
          "the body skip this path, or keep the bytes in request.rawBody, or add it in a plugin of its own, because " +
          "hooks of the whole app run for all routes",
      ),
    ]);
  });

  test("is used if the hook keeps its bytes in request.rawBody", async () => {
    const { port } = await serve({ before: (app) => reads(app, true) });
    expect((await send(port, await signed())).code).toBe("processed");
  });

  test("is used if the hook keeps its bytes in the raw request, and the app declares rawBody", async () => {
    const { port } = await serve({
      before(app) {
        app.decorateRequest("rawBody", null);
        app.addHook("onRequest", async ({ raw }) => {
          Object.assign(raw, { rawBody: await buffer(raw) });
        });
      },
    });
    expect((await send(port, await signed())).code).toBe("processed");
  });
});

test("hooks that change the body or the payload do not run for deliveries, even if they decompress", async () => {
  const ran: string[] = [];
  const { port } = await serve({
    before(app) {
      app.addHook("preParsing", async (_request, _reply, payload) => {
        ran.push("preParsing");
        return payload.pipe(createGunzip());
      });
      app.addHook("preHandler", async () => void ran.push("preHandler"));
      app.addHook("onSend", async () => void ran.push("onSend"));
      app.addHook("onRequest", async () => void ran.push("onRequest"));
      app.addHook("onResponse", async () => void ran.push("onResponse"));
    },
  });
  const zipped = await signed(gzipSync(eventBody()), { "content-encoding": "gzip" });
  expect((await send(port, zipped)).code).toBe("encoding_unsupported");
  expect((await send(port, await signed())).code).toBe("processed");
  await until(() => ran.length === 4, "the onResponse hooks run");
  expect(ran.toSorted()).toEqual(["onRequest", "onRequest", "onResponse", "onResponse"]);
});

test("the response has the headers that earlier hooks have set, on the reply or on the response", async () => {
  const { port } = await serve({
    before(app) {
      app.addHook("onRequest", async (request, reply) => {
        reply.header("x-request-id", request.id).header("set-cookie", ["a=1", "b=2"]);
        reply.header("content-type", "text/html");
        reply.raw.setHeader("x-raw", "1");
      });
    },
  });
  const { status, headers } = await send(port, await signed());
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    "x-request-id": "req-1",
    "x-raw": "1",
    "set-cookie": ["a=1", "b=2"],
    "content-type": "application/json",
  });
});

test("a hook that refuses a request, such as a rate limit, responds in place of the receiver", async () => {
  const { port, codes } = await serve({
    before(app) {
      app.addHook("onRequest", async (_request, reply) => reply.code(429).send("slow down"));
    },
  });
  expect(await send(port, await signed())).toMatchObject({ status: 429, text: "slow down" });
  expect(codes()).toEqual([]);
});

test("a hook that a plugin adds to each route, as a rate limit does, runs before the receiver", async () => {
  const { port, codes } = await serve({
    before(app) {
      app.addHook("onRoute", (route) => {
        const limit = async (_request: unknown, reply: FastifyReply) =>
          reply.code(429).send("slow down");
        route.onRequest = [route.onRequest ?? [], limit].flat();
      });
    },
  });
  expect(await send(port, await signed())).toMatchObject({ status: 429, text: "slow down" });
  expect(codes()).toEqual([]);
});

test("Fastify's request log has the status of the response", async () => {
  const lines: { msg: string; res?: { statusCode: number } }[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as never) };
  const app = Fastify({ logger: { level: "info", stream }, forceCloseConnections: true });
  const { port } = await serve({ app });
  await send(port, unsigned());
  await until(() => lines.some(({ msg }) => msg === "request completed"), "the request is logged");
  expect(lines.find(({ msg }) => msg === "request completed")?.res?.statusCode).toBe(401);
});

test("a client that disconnects in the middle of a body ends as aborted, and the server keeps running", async () => {
  const { port, reported } = await serve();
  const { headers, body } = await signed();
  const client = dial(port);
  client.write(requestHead({ ...headers, "content-length": String(body.length) }));
  client.write(body.subarray(0, 10));
  await send(port, unsigned());
  client.destroy();
  expect(await reported("aborted")).toMatchObject({ code: "aborted" });
  expect((await send(port, await signed())).code).toBe("processed");
});

test("the handlerTimeout of Fastify does not apply to deliveries", async () => {
  const app = Fastify({ handlerTimeout: 1, forceCloseConnections: true });
  const { port, reported } = await serve({ app });
  const { headers, body } = await signed();
  const client = dial(port);
  client.write(requestHead({ ...headers, "content-length": String(body.length) }));
  // This response is sent after the timeout of the first request.
  const late = Fastify({ handlerTimeout: 1, forceCloseConnections: true });
  late.get("/", () => new Promise(() => {}));
  expect((await send(await listen(late), unsigned(""), { method: "GET", path: "/" })).status).toBe(
    503,
  );
  client.write(body);
  expect(await client.response).toMatch(/^HTTP\/1.1 200 /);
  expect(await reported("processed")).toMatchObject({ code: "processed" });
});

/**
 * Counts the promises, timers and other asynchronous resources of a request to another route. Returns the lowest of 20
 * counts, because other work of the process adds to them.
 */
async function resourcesOfOther(hasWebhooks: boolean): Promise<number> {
  const app = Fastify();
  app.post("/other", (request, reply) => reply.send(request.body));
  if (hasWebhooks) app.register(webhooks, { receiver: observedReceiver().receiver });
  let resources = 0;
  const hook = createHook({ init: () => void (resources += 1) });
  const counts: number[] = [];
  for (let left = 20; left > 0; left -= 1) {
    resources = 0;
    hook.enable();
    const response = await app.inject({ method: "POST", url: "/other", payload: { a: 1 } });
    hook.disable();
    counts.push(resources);
    expect(response.json()).toEqual({ a: 1 });
  }
  await app.close();
  return Math.min(...counts);
}

test("adds no asynchronous step to requests of other routes", async () => {
  const without = await resourcesOfOther(false);
  expect(without).toBeGreaterThan(0);
  expect(await resourcesOfOther(true)).toBe(without);
});

test("loads nothing of Fastify itself", () => {
  const file = createRequire(import.meta.url).resolve("@svc-webhooks/fastify");
  for (const built of [file, file.replace(/cjs$/, "js")]) {
    const code = readFileSync(built, "utf8");
    const imported = code.matchAll(/^(?:import .+? from |let .+? require\()"([^"]+)"/gm);
    expect(new Set(Array.from(imported, ([, name]) => name))).toEqual(
      new Set(["@svc-webhooks/core/adapter", "@svc-webhooks/node"]),
    );
  }
});
