import { getRequestListener } from "@hono/node-server";
import { createReceiver, RetryError, type OutcomeCode, type Receiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { logger } from "hono/logger";
import { cloneRawRequest } from "hono/request";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { timeout } from "hono/timeout";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  eventBody,
  forgedSignature,
  secret,
  signed,
  unsigned,
  type TestDelivery,
} from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver, type ObservedReceiver } from "@svc-webhooks/kit/receivers";
import { listen } from "@svc-webhooks/kit/servers";
import { codeOf, hosts, initOf, type Ask } from "@svc-webhooks/kit/web";

const fix =
  "mount webhooks() before middleware that reads the body, or make the middleware read it with c.req.arrayBuffer()";

/** Collects the lines that receivers without a `log` option print. */
function printed(): readonly string[] {
  const lines: string[] = [];
  const print = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(line));
  onTestFinished(() => print.mockRestore());
  return lines;
}

const doing =
  (work: (c: Context) => unknown): MiddlewareHandler =>
  async (c, next) => {
    await work(c);
    await next();
  };

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

const signedInit = async (...delivery: Parameters<typeof signed>) =>
  initOf(await signed(...delivery));

/** A delivery that is not a duplicate of others. */
const another = (deliveryId: string, type?: string) =>
  signedInit(eventBody(type), { "x-svc-delivery-id": deliveryId });

describe.each(hosts)("$host", ({ host, serve }) => {
  interface Served extends ObservedReceiver {
    readonly ask: (delivery: TestDelivery) => Promise<Response>;
    readonly askFor: Ask;
    /** The bodies that handlers received, as hex digits. */
    readonly bodies: readonly string[];
    /** The errors that reached the app's own error handler. */
    readonly errors: readonly unknown[];
  }

  /** Serves an observed receiver at `/webhooks` for every method, behind middleware. */
  async function served(
    before: readonly MiddlewareHandler[] = [],
    options: Parameters<typeof observedReceiver>[0] = {},
  ): Promise<Served> {
    const bodies: string[] = [];
    const errors: unknown[] = [];
    const observed = observedReceiver({
      on: { "*": (_event, { delivery }) => bodies.push(hexOf(delivery.body)) },
      ...options,
    });
    const app = new Hono();
    for (const middleware of before) app.use(middleware);
    app.all("/webhooks", webhooks(observed.receiver));
    app.onError((error, c) => {
      errors.push(error);
      return c.text("the app's own error");
    });
    const askFor = await serve(app);
    const ask = (delivery: TestDelivery) => askFor("/webhooks", initOf(delivery));
    return { ...observed, ask, askFor, bodies, errors };
  }

  describe("behind Hono's own middleware", () => {
    const lines: string[] = [];
    const middlewares: readonly (readonly [string, MiddlewareHandler])[] = [
      ["logger", logger((line) => lines.push(line))],
      ["cors", cors()],
      ["bodyLimit", bodyLimit({ maxSize: 100_000 })],
      ["secureHeaders", secureHeaders()],
      ["requestId", requestId()],
      ["timeout", timeout(60_000)],
      ["compress", compress()],
    ];

    test.each(middlewares)("works after %s()", async (_name, middleware) => {
      const { ask, bodies } = await served([middleware]);
      const delivery = await signed(`\uFEFF${eventBody()}`);
      const processed = await ask(delivery);
      expect(processed.status).toBe(200);
      expect(processed.headers.get("content-type")).toBe("application/json");
      expect(processed.headers.get("cache-control")).toBe("no-store");
      expect(bodies).toEqual([hexOf(delivery.body)]);
      expect(await codeOf(await ask(delivery))).toBe("duplicate");
      const refused = await ask(unsigned());
      expect(refused.status).toBe(401);
      expect(await codeOf(refused)).toBe("signature_missing");
    });

    test("works after all of them, and each has its effect", async () => {
      const { ask } = await served(middlewares.map(([, middleware]) => middleware));
      lines.length = 0;
      const response = await ask(await signed());
      expect(await codeOf(response)).toBe("processed");
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("x-request-id")).toMatch(/./);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(lines).toEqual(["<-- POST /webhooks", expect.stringMatching(/^--> POST .*200/)]);
    });

    test("reads a body without a Content-Length, which bodyLimit() has read to count it", async () => {
      const { askFor, bodies } = await served([bodyLimit({ maxSize: 100_000 })]);
      const delivery = await signed(`\uFEFF${eventBody()}\r\n`);
      const stream = new Blob([new Uint8Array(delivery.body)]).stream();
      const init: RequestInit = { ...initOf(delivery), body: stream, duplex: "half" };
      expect(await codeOf(await askFor("/webhooks", init))).toBe("processed");
      expect(bodies).toEqual([hexOf(delivery.body)]);
    });

    test("sends the same response when compress() compresses it", async () => {
      const { askFor } = await served([compress()]);
      const response = await askFor(
        "/webhooks",
        await signedInit(eventBody(), { "accept-encoding": "gzip" }),
      );
      expect(response.status).toBe(200);
      expect(response.headers.get("content-encoding")).toBe("gzip");
      // Clients decompress what arrives over HTTP.
      const inflated =
        host === "in process"
          ? new Response(response.body?.pipeThrough(new DecompressionStream("gzip")))
          : response;
      expect(await codeOf(inflated)).toBe("processed");
    });
  });

  describe("takes the exact bytes that middleware has read with", () => {
    const reads: readonly (readonly [string, (c: Context) => Promise<unknown>])[] = [
      ["c.req.arrayBuffer()", (c) => c.req.arrayBuffer()],
      ["c.req.bytes()", (c) => c.req.bytes()],
      ["c.req.blob()", (c) => c.req.blob()],
      [
        "c.req.arrayBuffer(), then c.req.text()",
        (c) => c.req.arrayBuffer().then(() => c.req.text()),
      ],
      [
        "c.req.blob(), then c.req.json()",
        (c) => c.req.blob().then(() => c.req.json().catch(() => 0)),
      ],
    ];

    test.each(reads)("%s", async (_name, read) => {
      const { ask, bodies, codes, lines } = await served([doing(read)]);
      const delivery = await signed(`\uFEFF{"type":"email.sent","n":1.0,"to":"é😀"}\r\n`);
      expect(await codeOf(await ask(delivery))).toBe("processed");
      expect(bodies).toEqual([hexOf(delivery.body)]);
      // These bytes change when they are decoded to text.
      const noText = Buffer.from('{"type":"email.sent","x":"\xFF\xFE"}', "latin1");
      await ask(await signed(noText, { "x-svc-delivery-id": "dlv_2" }));
      await ask(await signed("", { "x-svc-delivery-id": "dlv_3" }));
      expect(codes()).toEqual(["processed", "malformed_body", "malformed_body"]);
      expect(lines).toEqual([]);
    });

    test("c.req.arrayBuffer() that is still pending", async () => {
      const { ask, bodies } = await served([doing((c) => void c.req.arrayBuffer())]);
      const delivery = await signed();
      expect(await codeOf(await ask(delivery))).toBe("processed");
      expect(bodies).toEqual([hexOf(delivery.body)]);
    });

    test.each([
      ["does not read JSON", "application/json"],
      ["keeps the bytes it parses", "application/x-www-form-urlencoded"],
    ])("c.req.parseBody(), which %s", async (_what, contentType) => {
      const { ask, bodies } = await served([doing((c) => c.req.parseBody())]);
      const delivery = await signed(`\uFEFF${eventBody()}`, { "content-type": contentType });
      expect(await codeOf(await ask(delivery))).toBe("processed");
      expect(bodies).toEqual([hexOf(delivery.body)]);
    });

    test("c.req.arrayBuffer(), up to maxBodyBytes", async () => {
      const { ask } = await served([doing((c) => c.req.arrayBuffer())], { maxBodyBytes: 64 });
      expect(await codeOf(await ask(await signed(eventBody().padEnd(65))))).toBe("body_too_large");
      expect(await codeOf(await ask(await signed(eventBody().padEnd(64))))).toBe("processed");
    });
  });

  describe("logs the fix behind middleware that has used", () => {
    const failing = (work: Promise<unknown>) => work.catch(() => {});
    const uses: readonly (readonly [string, (c: Context) => unknown])[] = [
      ["c.req.text()", (c) => c.req.text()],
      ["c.req.json()", (c) => failing(c.req.json())],
      ["c.req.formData()", (c) => failing(c.req.formData())],
      [
        "c.req.text(), then c.req.arrayBuffer()",
        (c) => c.req.text().then(() => c.req.arrayBuffer()),
      ],
      ["c.req.raw.text()", (c) => c.req.raw.text()],
      ["c.req.raw.json()", (c) => failing(c.req.raw.json())],
      ["c.req.raw.arrayBuffer()", (c) => c.req.raw.arrayBuffer()],
      ["c.req.raw.blob()", (c) => c.req.raw.blob()],
      [
        "c.req.raw.text(), then c.req.arrayBuffer(), which fails",
        (c) => c.req.raw.text().then(() => failing(c.req.arrayBuffer())),
      ],
      ["c.req.raw.body, to its end", (c) => c.req.raw.body?.pipeTo(new WritableStream())],
      [
        "c.req.raw.body, to its first bytes",
        async (c) => {
          const reader = c.req.raw.body?.getReader();
          await reader?.read();
          reader?.releaseLock();
        },
      ],
      ["c.req.raw.body, which is still locked", (c) => c.req.raw.body?.getReader()],
      ["c.req.raw.body, which is cancelled", (c) => c.req.raw.body?.cancel()],
      ["new Request(c.req.raw)", (c) => new Request(c.req.raw)],
    ];

    test.each(uses)("%s", async (_name, use) => {
      const { ask, codes, lines, errors } = await served([doing(use)]);
      const response = await ask(await signed(`\uFEFF${eventBody()}`));
      expect(response.status).toBe(500);
      expect(await response.text()).toBe(
        '{"error":{"code":"body_unavailable","message":"body unavailable"}}',
      );
      expect(codes()).toEqual(["body_unavailable"]);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/^svc-webhooks default: body_unavailable: \S/);
      expect(lines[0]?.endsWith(`; ${fix}`)).toBe(true);
      expect(errors).toEqual([]);
    });

    test.each(uses)("%s, but not for unsigned requests", async (_name, use) => {
      const { ask, codes, lines } = await served([doing(use)]);
      expect((await ask(unsigned())).status).toBe(401);
      expect(codes()).toEqual(["signature_missing"]);
      expect(lines).toEqual([]);
    });
  });

  describe("processes a delivery behind middleware that has used", () => {
    const large = eventBody("email.sent", { html: "é".repeat(100_000) });
    const uses: readonly (readonly [string, (c: Context) => unknown])[] = [
      ["c.req.raw.clone(), unread", (c) => void c.req.raw.clone()],
      ["c.req.raw.clone().text()", (c) => c.req.raw.clone().text()],
      ["c.req.raw.clone().json()", (c) => c.req.raw.clone().json()],
      ["c.req.raw.clone().arrayBuffer()", (c) => c.req.raw.clone().arrayBuffer()],
      ["c.req.raw.clone().body", (c) => c.req.raw.clone().body?.pipeTo(new WritableStream())],
      ["two clones", (c) => Promise.all([c.req.raw.clone().text(), c.req.raw.clone().text()])],
      ["cloneRawRequest()", async (c) => (await cloneRawRequest(c.req)).text()],
      [
        "c.req.arrayBuffer(), then cloneRawRequest()",
        async (c) => {
          await c.req.arrayBuffer();
          await (await cloneRawRequest(c.req)).json();
        },
      ],
      [
        "c.req.raw.arrayBuffer(), and has restored the request",
        async (c) => {
          const { method, headers, url } = c.req.raw;
          c.req.raw = new Request(url, { method, headers, body: await c.req.raw.arrayBuffer() });
        },
      ],
    ];

    test.each(uses)("%s", async (_name, use) => {
      const { ask, bodies } = await served([doing(use)]);
      const delivery = await signed(large);
      expect(await codeOf(await ask(delivery))).toBe("processed");
      expect(bodies).toEqual([hexOf(delivery.body)]);
    });
  });

  describe("mounted", () => {
    test("with app.all() responds 405 to HEAD, without a body", async () => {
      const { askFor } = await served();
      const response = await askFor("/webhooks", { method: "HEAD" });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
      expect(await response.text()).toBe("");
    });

    test("with app.post() leaves other methods to the app", async () => {
      const { receiver, codes } = observedReceiver();
      const askFor = await serve(new Hono().post("/webhooks", webhooks(receiver)));
      for (const method of ["GET", "HEAD", "PUT", "OPTIONS"]) {
        expect((await askFor("/webhooks", { method })).status).toBe(404);
      }
      expect(codes()).toEqual([]);
    });

    test("with app.use(), app.on(), a base path or a nested app processes deliveries", async () => {
      const { receiver } = observedReceiver();
      const handler = webhooks(receiver);
      const apps = [
        new Hono().use("/in/webhooks", handler),
        new Hono().on("POST", ["/out", "/in/:hooks"], handler),
        new Hono().basePath("/in").post("/webhooks", handler),
        new Hono().route("/in", new Hono().post("/webhooks", handler)),
        new Hono().mount("/in", new Hono().post("/webhooks", handler).fetch),
      ];
      for (const [index, app] of apps.entries()) {
        const askFor = await serve(app);
        expect(await codeOf(await askFor("/in/webhooks", await another(`dlv_${index}`)))).toBe(
          "processed",
        );
      }
    });
  });

  test("never calls next() or the app's error handlers, whatever the outcome", async () => {
    const reached: string[] = [];
    const { receiver, codes } = observedReceiver({
      on: {
        fails: () => Promise.reject(new RetryError({ retryAfterMs: 1_000 })),
        throws: () => {
          throw new Error("no");
        },
        works: () => {},
      },
    });
    const app = new Hono()
      .all("/webhooks", webhooks(receiver), (c) => {
        reached.push("next");
        return c.text("");
      })
      .onError((_error, c) => {
        reached.push("onError");
        return c.text("");
      })
      .notFound((c) => {
        reached.push("notFound");
        return c.text("");
      });
    const askFor = await serve(app);
    const deliveries = [
      await another("dlv_1", "works"),
      await another("dlv_1", "works"),
      await another("dlv_2", "fails"),
      await another("dlv_3", "throws"),
      await another("dlv_4", "other"),
      await signedInit("{"),
      await signedInit("{}"),
      await signedInit(eventBody(), { "x-svc-delivery-id": undefined }),
      await signedInit(eventBody(), { "content-encoding": "gzip" }),
      initOf(unsigned(eventBody(), { "x-svc-signature": forgedSignature })),
      initOf(unsigned()),
    ];
    for (const delivery of deliveries) await askFor("/webhooks", delivery);
    await askFor("/webhooks", { method: "GET" });
    expect(reached).toEqual([]);
    expect(codes()).toEqual([
      "processed",
      "duplicate",
      "handler_failed",
      "handler_failed",
      "ignored",
      "malformed_body",
      "event_untyped",
      "delivery_id_missing",
      "encoding_unsupported",
      "signature_mismatch",
      "signature_missing",
      "method_not_allowed",
    ]);
  });

  describe("given a function", () => {
    const throwing = (): Receiver => {
      throw new Error("not ready");
    };
    const gzip = { "content-encoding": "gzip" };
    const malformed = initOf(unsigned(eventBody(), { "x-svc-signature": "sha256=0" }));

    test("calls it once, on the first delivery, and reuses the receiver", async () => {
      const { receiver } = observedReceiver();
      const make = vi.fn<(c: Context) => Receiver>(() => receiver);
      const app = new Hono().post("/webhooks", webhooks(make));
      const askFor = await serve(app);
      expect(make).not.toHaveBeenCalled();
      const codes = [];
      for (const deliveryId of ["dlv_1", "dlv_2", "dlv_1"]) {
        codes.push(await codeOf(await askFor("/webhooks", await another(deliveryId))));
      }
      expect(codes).toEqual(["processed", "processed", "duplicate"]);
      expect(make).toHaveBeenCalledTimes(1);
      expect(make.mock.calls[0]?.[0].req.path).toBe("/webhooks");
    });

    test("builds one receiver for concurrent first deliveries", async () => {
      const started = gate();
      const finished = gate();
      let runs = 0;
      const make = vi.fn<() => Receiver>(() =>
        createReceiver({
          secret,
          on: {
            "*": () => {
              runs += 1;
              started.open();
              return finished.opened;
            },
          },
        }),
      );
      const askFor = await serve(new Hono().post("/webhooks", webhooks(make)));
      const delivery = await signedInit();
      const responses = Array.from({ length: 5 }, () => askFor("/webhooks", delivery));
      await started.opened;
      // All other copies get a response before the running one ends.
      await Promise.race(responses);
      finished.open();
      const codes = await Promise.all(responses.map(async (response) => codeOf(await response)));
      expect(codes.filter((code) => code === "processed")).toHaveLength(1);
      expect(codes.filter((code) => code === "in_flight" || code === "duplicate")).toHaveLength(4);
      expect(make).toHaveBeenCalledTimes(1);
      expect(runs).toBe(1);
    });

    test.each<[string, () => RequestInit | Promise<RequestInit>, OutcomeCode]>([
      ["another method", () => ({ method: "GET" }), "method_not_allowed"],
      ["no signature", () => initOf(unsigned()), "signature_missing"],
      ["a malformed signature", () => malformed, "signature_malformed"],
      ["a content encoding", () => signedInit(eventBody(), gzip), "encoding_unsupported"],
    ])("does not call it for a request with %s", async (_what, init, code) => {
      const make = vi.fn<() => Receiver>(() => observedReceiver().receiver);
      const askFor = await serve(new Hono().all("/webhooks", webhooks(make)));
      expect(await codeOf(await askFor("/webhooks", await init()))).toBe(code);
      expect(make).not.toHaveBeenCalled();
      expect(await codeOf(await askFor("/webhooks", await signedInit()))).toBe("processed");
      expect(make).toHaveBeenCalledTimes(1);
    });

    test("applies the receiver's maxBodyBytes to the first delivery too and reports it once", async () => {
      const { receiver, codes, lines } = observedReceiver({ maxBodyBytes: 64 });
      const askFor = await serve(
        new Hono().post(
          "/webhooks",
          webhooks(() => receiver),
        ),
      );
      const large = await signedInit(eventBody().padEnd(65));
      expect(await codeOf(await askFor("/webhooks", large))).toBe("body_too_large");
      expect(codes()).toEqual(["body_too_large"]);
      expect(lines).toEqual([]);
    });

    test("that throws ends signed deliveries as misconfigured until it succeeds and reveals nothing to others", async () => {
      const lines = printed();
      const errors: unknown[] = [];
      const { receiver } = observedReceiver();
      let ready = false;
      const make = vi.fn<() => Receiver>(() => {
        if (!ready) throw new Error("the binding SECRET is missing\nforged line");
        return receiver;
      });
      const app = new Hono().all("/webhooks", webhooks(make)).onError((error, c) => {
        errors.push(error);
        return c.text("");
      });
      const askFor = await serve(app);
      const ask = async (delivery: RequestInit) => codeOf(await askFor("/webhooks", delivery));

      expect(await ask(initOf(unsigned()))).toBe("signature_missing");
      expect(await ask({ method: "GET" })).toBe("method_not_allowed");
      expect(lines).toEqual([]);

      const misconfigured = await askFor("/webhooks", await signedInit());
      expect(misconfigured.status).toBe(500);
      expect(await misconfigured.text()).toBe(
        '{"error":{"code":"misconfigured","message":"misconfigured"}}',
      );
      expect(await ask(await signedInit())).toBe("misconfigured");
      const line =
        "svc-webhooks default: misconfigured: the binding SECRET is missing\\u{a}forged line";
      // The second one is within a minute of the first.
      expect(lines).toEqual([line]);
      expect(make.mock.calls.length).toBeGreaterThanOrEqual(2);

      ready = true;
      expect(await ask(await signedInit())).toBe("processed");
      expect(await ask(await signedInit())).toBe("duplicate");
      const calls = make.mock.calls.length;
      expect(await ask(await another("dlv_2"))).toBe("processed");
      expect(make).toHaveBeenCalledTimes(calls);
      expect(lines).toHaveLength(1);
      expect(errors).toEqual([]);
    });

    const nothing: unknown = undefined;
    const promised: unknown = Promise.resolve(observedReceiver().receiver);

    test.each<[string, () => Receiver, string]>([
      [
        "throws undefined",
        () => {
          // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error
          throw undefined;
        },
        "misconfigured: undefined",
      ],
      [
        "lacks the binding",
        () => createReceiver({ secret: "", on: { "*": () => {} } }),
        "misconfigured: secret ",
      ],
      [
        "returns nothing",
        () => nothing as Receiver,
        "misconfigured: webhooks() takes a receiver or a function that returns one.",
      ],
      [
        "returns a promise of a receiver",
        () => promised as Receiver,
        "misconfigured: webhooks() takes a receiver or a function that returns one.",
      ],
    ])("that %s ends deliveries as misconfigured, with the reason", async (_what, make, reason) => {
      const lines = printed();
      const app = new Hono().post("/webhooks", webhooks(make));
      const askFor = await serve(app.onError((_error, c) => c.text("the app's own error")));
      expect(await codeOf(await askFor("/webhooks", await signedInit()))).toBe("misconfigured");
      expect(lines).toEqual([expect.stringContaining(reason)]);
    });

    test("that throws ends a large delivery as misconfigured, not as too large", async () => {
      printed();
      const askFor = await serve(new Hono().post("/webhooks", webhooks(throwing)));
      const large = await signedInit(eventBody("email.sent", { html: "x".repeat(2_000_000) }));
      expect(await codeOf(await askFor("/webhooks", large))).toBe("misconfigured");
    });

    test("that throws leaves bodies unread, so that unverified requests take no memory", async () => {
      printed();
      const bodiesUsed: boolean[] = [];
      const app = new Hono()
        .use(async (c, next) => {
          await next();
          bodiesUsed.push(c.req.raw.bodyUsed);
        })
        .post("/webhooks", webhooks(throwing));
      const askFor = await serve(app);
      const body = Buffer.alloc(2_000_000, " ");
      const headers = { "x-svc-signature": forgedSignature };
      const known = initOf(unsigned(body, headers));
      const chunked: RequestInit = { ...known, body: new Blob([body]).stream(), duplex: "half" };
      for (const init of [known, chunked]) {
        expect(await codeOf(await askFor("/webhooks", init))).toBe("misconfigured");
      }
      expect(bodiesUsed).toEqual([false, false]);
    });
  });
});

test.each([undefined, null, "whsec_test", {}])("rejects %j immediately", (source) => {
  expect(() => webhooks(source)).toThrow(
    new TypeError("webhooks() takes a receiver or a function that returns one."),
  );
});

describe("the execution context", () => {
  /** As on Workers, its methods fail when they are called on another `this`. */
  class WorkerContext {
    readonly props = {};
    readonly #works: Promise<unknown>[] = [];

    waitUntil(work: Promise<unknown>) {
      this.#works.push(work);
    }

    passThroughOnException() {}

    get works(): readonly Promise<unknown>[] {
      return this.#works;
    }
  }

  test("receives the run through a bound waitUntil", async () => {
    const finished = gate();
    const { receiver, reported, internalErrors } = observedReceiver({
      handlerTimeoutMs: 1,
      on: { "*": () => finished.opened },
    });
    const app = new Hono().post("/webhooks", webhooks(receiver));
    const context = new WorkerContext();
    const response = await app.request("/webhooks", await signedInit(), {}, context);
    expect(await codeOf(response)).toBe("handler_timeout");
    expect(context.works).toHaveLength(1);
    const settled = reported("processed");
    finished.open();
    await Promise.all(context.works);
    expect(await settled).toMatchObject({ phase: "settled" });
    expect(internalErrors).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["a string", "on"],
    ["an object with a socket", { socket: {} }],
    [
      "a service, which has every property as a function",
      new Proxy(() => {}, { get: () => () => {} }),
    ],
  ])("is used when a binding named incoming holds %s", async (_what, incoming) => {
    const { receiver } = observedReceiver({ on: { "*": async () => {} } });
    const app = new Hono().post("/webhooks", webhooks(receiver));
    const context = new WorkerContext();
    await app.request("/webhooks", await signedInit(), { incoming }, context);
    expect(context.works).toHaveLength(1);
  });

  test("is not accessed on @hono/node-server, where the access throws", async () => {
    let accesses = 0;
    const app = new Hono()
      .use(async (c, next) => {
        Object.defineProperty(c, "executionCtx", { get: () => void (accesses += 1) });
        await next();
      })
      .post("/webhooks", webhooks(observedReceiver().receiver));
    const port = await listen(getRequestListener(app.fetch));
    const response = await fetch(`http://127.0.0.1:${port}/webhooks`, await signedInit());
    expect(await codeOf(response)).toBe("processed");
    expect(accesses).toBe(0);
    await app.request("/webhooks", await signedInit());
    expect(accesses).toBe(1);
  });

  test("is read again for each request", async () => {
    const { receiver } = observedReceiver({ on: { "*": async () => {} } });
    const app = new Hono().post("/webhooks", webhooks(receiver));
    const contexts = [new WorkerContext(), new WorkerContext()];
    for (const [index, context] of contexts.entries()) {
      await app.request("/webhooks", await another(`dlv_${index}`), {}, context);
    }
    expect(contexts.map(({ works }) => works.length)).toEqual([1, 1]);
  });

  test("receives nothing for deliveries that run no handler", async () => {
    const { receiver } = observedReceiver();
    const app = new Hono().post("/webhooks", webhooks(receiver));
    const context = new WorkerContext();
    for (const delivery of [initOf(unsigned()), await signedInit("{")]) {
      await app.request("/webhooks", delivery, {}, context);
    }
    expect(context.works).toEqual([]);
  });

  test.each([
    ["missing", undefined],
    ["without waitUntil", {} as WorkerContext],
  ])("may be %s", async (_what, context) => {
    const { receiver, lines, internalErrors } = observedReceiver();
    const app = new Hono().post("/webhooks", webhooks(receiver));
    const response = await app.request("/webhooks", await signedInit(), {}, context);
    expect(await codeOf(response)).toBe("processed");
    expect(internalErrors).toEqual([]);
    expect(lines).toEqual([]);
  });

  test("whose waitUntil throws changes no outcome", async () => {
    const { receiver, internalErrors } = observedReceiver({ on: { "*": async () => {} } });
    const app = new Hono().post("/webhooks", webhooks(receiver));
    const refusing = Object.assign(new WorkerContext(), {
      waitUntil() {
        throw new Error("too late");
      },
    });
    const response = await app.request("/webhooks", await signedInit(), {}, refusing);
    expect(await codeOf(response)).toBe("processed");
    expect(internalErrors).toEqual([new Error("too late")]);
  });
});
