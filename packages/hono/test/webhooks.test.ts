import { getRequestListener } from "@hono/node-server";
import {
  createReceiver,
  RetryError,
  type OutcomeCode,
  type Receiver,
  type Scheme,
} from "@svc-webhooks/core";
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
import { schemeDelivery, testScheme } from "@svc-webhooks/kit/test-scheme";
import { eventBody, forgedSignature, secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { listen } from "@svc-webhooks/kit/servers";
import { codeOf, hosts, initOf, recordingReceiver, signedInit } from "@svc-webhooks/kit/web";

const fix =
  "mount webhooks() before middleware that reads the body, or make the middleware read it with c.req.arrayBuffer()";

type Use = (c: Context) => unknown;

const middlewareOf =
  (use: Use): MiddlewareHandler =>
  async (c, next) => {
    await use(c);
    await next();
  };

/** Comparing large arrays of bytes takes seconds. */
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

const failing = (work: Promise<unknown>) => work.catch(() => {});

/** Returns a delivery that is not a duplicate of others. */
const another = (deliveryId: string, type?: string) =>
  signedInit(eventBody(type), { "x-svc-delivery-id": deliveryId });

const malformed = initOf(unsigned(eventBody(), { "x-svc-signature": "sha256=0" }));
const encoded = await signedInit(eventBody(), { "content-encoding": "gzip" });

/** Returns the lines that receivers without a `log` option print. */
function printed(): readonly string[] {
  const lines: string[] = [];
  const print = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(line));
  onTestFinished(() => print.mockRestore());
  return lines;
}

describe.each(hosts)("$host", ({ host, serve }) => {
  /** Sends requests to an app's `/webhooks`. */
  async function client(app: Hono) {
    const askFor = await serve(app);
    const ask = (init: RequestInit) => askFor("/webhooks", init);
    return { ask, codeFor: async (init: RequestInit) => codeOf(await ask(init)) };
  }

  /** Serves a receiver at `/webhooks` for every method, behind middleware. */
  async function served(
    source: Receiver | ((c: Context) => Receiver),
    ...before: MiddlewareHandler[]
  ) {
    const errors: unknown[] = [];
    const app = new Hono();
    for (const middleware of before) app.use(middleware);
    // The type of the handler depends on the kind of source; both kinds fit here.
    app.all("/webhooks", webhooks(source as Receiver));
    app.onError((error, c) => {
      errors.push(error);
      return c.text("the app's own error");
    });
    return { ...(await client(app)), errors };
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
      const { receiver, bodies } = recordingReceiver();
      const { ask, codeFor } = await served(receiver, middleware);
      const delivery = await signed(`\uFEFF${eventBody()}`);
      const { status, headers } = await ask(initOf(delivery));
      expect(status).toBe(200);
      expect(headers.get("content-type")).toBe("application/json");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(bodies.map(hexOf)).toEqual([hexOf(delivery.body)]);
      expect(await codeFor(initOf(delivery))).toBe("duplicate");
      expect(await codeFor(initOf(unsigned()))).toBe("signature_missing");
    });

    test("works after all of them, and each has its effect", async () => {
      const { receiver } = observedReceiver();
      const { ask } = await served(receiver, ...middlewares.map(([, middleware]) => middleware));
      lines.length = 0;
      const response = await ask(await signedInit());
      expect(await codeOf(response)).toBe("processed");
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "access-control-allow-origin": "*",
        "x-content-type-options": "nosniff",
        "x-request-id": expect.stringMatching(/./),
        "cache-control": "no-store",
      });
      expect(lines).toEqual(["<-- POST /webhooks", expect.stringMatching(/^--> POST .*200/)]);
    });

    test("reads a body without a Content-Length, which bodyLimit() has read to count it", async () => {
      const { receiver, bodies } = recordingReceiver();
      const { codeFor } = await served(receiver, bodyLimit({ maxSize: 100_000 }));
      const delivery = await signed(`\uFEFF${eventBody()}\r\n`);
      const stream = new Blob([new Uint8Array(delivery.body)]).stream();
      const init: RequestInit = { ...initOf(delivery), body: stream, duplex: "half" };
      expect(await codeFor(init)).toBe("processed");
      expect(bodies.map(hexOf)).toEqual([hexOf(delivery.body)]);
    });

    test("sends the same response when compress() compresses it", async () => {
      const { ask } = await served(observedReceiver().receiver, compress());
      const response = await ask(await signedInit(eventBody(), { "accept-encoding": "gzip" }));
      expect(response.status).toBe(200);
      expect(response.headers.get("content-encoding")).toBe("gzip");
      // Clients decompress bodies that arrive over HTTP.
      const inflated =
        host === "in process"
          ? new Response(response.body?.pipeThrough(new DecompressionStream("gzip")))
          : response;
      expect(await codeOf(inflated)).toBe("processed");
    });
  });

  describe("takes the exact bytes that middleware has read with", () => {
    test.each<[string, Use]>([
      ["c.req.arrayBuffer()", (c) => c.req.arrayBuffer()],
      ["c.req.bytes()", (c) => c.req.bytes()],
      ["c.req.blob()", (c) => c.req.blob()],
      ["c.req.arrayBuffer() and c.req.text()", (c) => c.req.arrayBuffer().then(() => c.req.text())],
      ["c.req.blob() and c.req.json()", (c) => c.req.blob().then(() => failing(c.req.json()))],
    ])("%s", async (_name, read) => {
      const { receiver, bodies, codes, lines } = recordingReceiver();
      const { ask } = await served(receiver, middlewareOf(read));
      const delivery = await signed(`\uFEFF{"type":"email.sent","n":1.0,"to":"é😀"}\r\n`);
      await ask(initOf(delivery));
      expect(bodies.map(hexOf)).toEqual([hexOf(delivery.body)]);
      // These bytes change when they are decoded to text.
      await ask(await signedInit(Buffer.from('{"type":"email.sent","x":"\xFF\xFE"}', "latin1")));
      await ask(await signedInit(""));
      expect(codes()).toEqual(["processed", "malformed_body", "malformed_body"]);
      expect(lines).toEqual([expect.stringContaining("malformed_body")]);
    });

    test.each<[string, Use, string]>([
      ["c.req.arrayBuffer() that is pending", (c) => void c.req.arrayBuffer(), "application/json"],
      ["c.req.parseBody(), which skips JSON", (c) => c.req.parseBody(), "application/json"],
      [
        "c.req.parseBody(), which keeps the bytes it parses",
        (c) => c.req.parseBody(),
        "application/x-www-form-urlencoded",
      ],
    ])("%s", async (_name, read, contentType) => {
      const { receiver, bodies } = recordingReceiver();
      const { codeFor } = await served(receiver, middlewareOf(read));
      const delivery = await signed(`\uFEFF${eventBody()}`, { "content-type": contentType });
      expect(await codeFor(initOf(delivery))).toBe("processed");
      expect(bodies.map(hexOf)).toEqual([hexOf(delivery.body)]);
    });

    test("c.req.arrayBuffer(), up to maxBodyBytes", async () => {
      const { receiver } = observedReceiver({ maxBodyBytes: 64 });
      const { codeFor } = await served(
        receiver,
        middlewareOf((c) => c.req.arrayBuffer()),
      );
      expect(await codeFor(await signedInit(eventBody().padEnd(65)))).toBe("body_too_large");
      expect(await codeFor(await signedInit(eventBody().padEnd(64)))).toBe("processed");
    });
  });

  test.each<[string, Use]>([
    ["c.req.text()", (c) => c.req.text()],
    ["c.req.json()", (c) => failing(c.req.json())],
    ["c.req.formData()", (c) => failing(c.req.formData())],
    ["c.req.text() and c.req.arrayBuffer()", (c) => c.req.text().then(() => c.req.arrayBuffer())],
    ["c.req.raw.text()", (c) => c.req.raw.text()],
    ["c.req.raw.json()", (c) => failing(c.req.raw.json())],
    ["c.req.raw.arrayBuffer()", (c) => c.req.raw.arrayBuffer()],
    ["c.req.raw.blob()", (c) => c.req.raw.blob()],
    [
      "c.req.raw.text() and c.req.arrayBuffer(), which fails",
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
    ["c.req.raw.body, which is canceled", (c) => c.req.raw.body?.cancel()],
    ["new Request(c.req.raw)", (c) => new Request(c.req.raw)],
  ])(
    "logs the fix behind middleware that has used %s, but not for unsigned requests",
    async (_name, use) => {
      const { receiver, codes, lines } = observedReceiver();
      const { ask, errors } = await served(receiver, middlewareOf(use));
      await ask(initOf(unsigned()));
      expect((await ask(await signedInit(`\uFEFF${eventBody()}`))).status).toBe(500);
      expect(codes()).toEqual(["signature_missing", "body_unavailable"]);
      expect(lines).toEqual([
        expect.stringMatching(/^svc-webhooks default: signature_missing: /),
        expect.stringMatching(/^svc-webhooks default: body_unavailable: \S/),
      ]);
      expect(lines[1]?.endsWith(`; ${fix}`)).toBe(true);
      expect(errors).toEqual([]);
    },
  );

  test.each<[string, Use]>([
    ["c.req.raw.clone(), unread", (c) => void c.req.raw.clone()],
    ["c.req.raw.clone().text()", (c) => c.req.raw.clone().text()],
    ["c.req.raw.clone().json()", (c) => c.req.raw.clone().json()],
    ["c.req.raw.clone().arrayBuffer()", (c) => c.req.raw.clone().arrayBuffer()],
    ["c.req.raw.clone().body", (c) => c.req.raw.clone().body?.pipeTo(new WritableStream())],
    ["two clones", (c) => Promise.all([c.req.raw.clone().text(), c.req.raw.clone().text()])],
    ["cloneRawRequest()", async (c) => (await cloneRawRequest(c.req)).text()],
    [
      "c.req.arrayBuffer() and cloneRawRequest()",
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
  ])("processes the exact bytes behind middleware that has used %s", async (_name, use) => {
    const { receiver, bodies } = recordingReceiver();
    const { codeFor } = await served(receiver, middlewareOf(use));
    const delivery = await signed(eventBody("email.sent", { html: "é".repeat(100_000) }));
    expect(await codeFor(initOf(delivery))).toBe("processed");
    expect(bodies.map(hexOf)).toEqual([hexOf(delivery.body)]);
  });

  test("with app.post() leaves other methods to the app", async () => {
    const { receiver, codes } = observedReceiver();
    const { ask } = await client(new Hono().post("/webhooks", webhooks(receiver)));
    for (const method of ["GET", "HEAD", "PUT", "OPTIONS"]) {
      expect((await ask({ method })).status).toBe(404);
    }
    expect(codes()).toEqual([]);
  });

  test.each<[string, (handler: ReturnType<typeof webhooks>) => Hono]>([
    ["app.use()", (handler) => new Hono().use("/webhooks", handler)],
    ["app.on()", (handler) => new Hono().on("POST", ["/out", "/:hooks"], handler)],
    ["a base path", (handler) => new Hono().basePath("/").post("/webhooks", handler)],
    ["a nested app", (handler) => new Hono().route("/", new Hono().post("/webhooks", handler))],
    [
      "app.mount()",
      (handler) => new Hono().mount("/", new Hono().post("/webhooks", handler).fetch),
    ],
  ])("processes deliveries when mounted with %s", async (_how, appOf) => {
    const { codeFor } = await client(appOf(webhooks(observedReceiver().receiver)));
    expect(await codeFor(await signedInit())).toBe("processed");
  });

  test("never calls next() or the app's error handlers, whatever the outcome", async () => {
    const reached: string[] = [];
    const reaching = (name: string) => (c: Context) => {
      reached.push(name);
      return c.text("");
    };
    const { receiver } = observedReceiver({
      on: {
        fails: () => Promise.reject(new RetryError({ retryAfterMs: 1_000 })),
        throws: () => {
          throw new Error("no");
        },
        works: () => {},
      },
    });
    const app = new Hono()
      .all("/webhooks", webhooks(receiver), reaching("next"))
      .onError((_error, c) => reaching("onError")(c))
      .notFound(reaching("notFound"));
    const { codeFor } = await client(app);
    const expected: readonly (readonly [OutcomeCode, RequestInit])[] = [
      ["processed", await another("dlv_1", "works")],
      ["duplicate", await another("dlv_1", "works")],
      ["handler_failed", await another("dlv_2", "fails")],
      ["handler_failed", await another("dlv_3", "throws")],
      ["ignored", await another("dlv_4", "other")],
      ["malformed_body", await signedInit("{")],
      ["event_untyped", await signedInit("{}")],
      ["delivery_id_missing", await signedInit(eventBody(), { "x-svc-delivery-id": undefined })],
      ["encoding_unsupported", encoded],
      ["signature_mismatch", initOf(unsigned(eventBody(), { "x-svc-signature": forgedSignature }))],
      ["signature_missing", initOf(unsigned())],
      ["method_not_allowed", { method: "GET" }],
    ];
    for (const [code, init] of expected) expect(await codeFor(init)).toBe(code);
    expect(reached).toEqual([]);
  });

  describe("given a function", () => {
    const throwing = (): Receiver => {
      throw new Error("not ready");
    };

    test("builds one receiver for concurrent first deliveries", async () => {
      const [started, finished] = [gate(), gate()];
      const run = vi.fn<() => Promise<void>>(() => {
        started.open();
        return finished.opened;
      });
      const make = vi.fn<() => Receiver>(() => createReceiver({ secret, on: { "*": run } }));
      const { codeFor } = await served(make);
      const delivery = await signedInit();
      const responses = Array.from({ length: 5 }, () => codeFor(delivery));
      await started.opened;
      // All other copies get a response before the running one ends.
      await Promise.race(responses);
      finished.open();
      const codes = await Promise.all(responses);
      expect(codes.filter((code) => code === "processed")).toHaveLength(1);
      expect(codes.filter((code) => code === "in_flight" || code === "duplicate")).toHaveLength(4);
      expect(make).toHaveBeenCalledTimes(1);
      expect(run).toHaveBeenCalledTimes(1);
    });

    test.each<[string, RequestInit, OutcomeCode]>([
      ["another method", { method: "GET" }, "method_not_allowed"],
      ["a malformed signature", malformed, "signature_malformed"],
      ["a content encoding", encoded, "encoding_unsupported"],
    ])("does not call it for a request with %s", async (_what, init, code) => {
      const make = vi.fn<() => Receiver>(() => observedReceiver().receiver);
      const { codeFor } = await served(make);
      expect(await codeFor(init)).toBe(code);
      expect(make).not.toHaveBeenCalled();
      expect(await codeFor(await signedInit())).toBe("processed");
      expect(make).toHaveBeenCalledTimes(1);
    });

    test("calls it for a request without the service's signature, which another sender may have sent", async () => {
      const { receiver, codes } = observedReceiver({ scheme: testScheme, secret: "test key" });
      const make = vi.fn<() => Receiver>(() => receiver);
      const { codeFor } = await served(make);
      expect(await codeFor(initOf(unsigned()))).toBe("signature_missing");
      expect(await codeFor(initOf(schemeDelivery()))).toBe("processed");
      expect(make).toHaveBeenCalledTimes(1);
      expect(codes()).toEqual(["signature_missing", "processed"]);
    });

    test("calls it for a GET request with a query, to which its scheme may respond", async () => {
      const scheme: Scheme = {
        ...testScheme,
        challenge: (url) =>
          url?.endsWith("?challenge=a") ? { code: "handshake", reply: { body: "a" } } : undefined,
      };
      const make = vi.fn<() => Receiver>(
        () => observedReceiver({ scheme, secret: "test key" }).receiver,
      );
      const app = new Hono().get("/webhooks", webhooks(make));
      const askFor = await serve(app);
      const response = await askFor("/webhooks?challenge=a", { method: "GET" });
      expect([response.status, await response.text()]).toEqual([200, "a"]);
      const other = await askFor("/webhooks?challenge=b", { method: "GET" });
      expect(other.status).toBe(405);
      expect(make).toHaveBeenCalledTimes(1);
    });

    test("applies the receiver's maxBodyBytes to the first delivery too and reports it once", async () => {
      const { receiver, codes, lines } = observedReceiver({ maxBodyBytes: 64 });
      const { codeFor } = await served(() => receiver);
      expect(await codeFor(await signedInit(eventBody().padEnd(65)))).toBe("body_too_large");
      expect(codes()).toEqual(["body_too_large"]);
      expect(lines).toEqual([expect.stringContaining("body_too_large")]);
    });

    test("that throws ends deliveries as misconfigured until it succeeds and reveals nothing", async () => {
      const lines = printed();
      const { receiver } = observedReceiver();
      let ready = false;
      const make = vi.fn<() => Receiver>(() => {
        if (!ready) throw new Error("the binding SECRET is missing\nforged line");
        return receiver;
      });
      const { ask, codeFor, errors } = await served(make);

      expect(await codeFor({ method: "GET" })).toBe("method_not_allowed");
      expect(await codeFor(initOf(unsigned()))).toBe("misconfigured");
      const misconfigured = await ask(await signedInit());
      expect(misconfigured.status).toBe(500);
      expect(await misconfigured.text()).toBe(
        '{"error":{"code":"misconfigured","message":"misconfigured"}}',
      );
      expect(await codeFor(await signedInit())).toBe("misconfigured");
      // Further lines would come within a minute of the first.
      expect(lines).toEqual([
        "svc-webhooks default: misconfigured: The function passed to webhooks() failed: the binding SECRET is missing\\u{a}forged line",
      ]);
      expect(make.mock.calls.length).toBeGreaterThanOrEqual(2);

      ready = true;
      expect(await codeFor(await signedInit())).toBe("processed");
      expect(await codeFor(await signedInit())).toBe("duplicate");
      const calls = make.mock.calls.length;
      expect(await codeFor(await another("dlv_2"))).toBe("processed");
      expect(make).toHaveBeenCalledTimes(calls);
      expect(lines).toHaveLength(1);
      expect(errors).toEqual([]);
    });

    test.each<[string, () => unknown, string]>([
      [
        "throws undefined",
        () => {
          // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error
          throw undefined;
        },
        "The function passed to webhooks() failed: undefined",
      ],
      [
        "lacks the binding",
        () => createReceiver({ secret: "", on: { "*": () => {} } }),
        "`secret` is empty.",
      ],
      [
        "returns nothing",
        () => undefined,
        "`receiver` is undefined. Pass the receiver that createReceiver() returns",
      ],
      [
        "returns a promise of a receiver",
        async () => observedReceiver().receiver,
        "`receiver` is a promise, which must be awaited.",
      ],
    ])("that %s ends deliveries as misconfigured, with the reason", async (_what, make, reason) => {
      const lines = printed();
      const { codeFor } = await served(make as () => Receiver);
      expect(await codeFor(await signedInit())).toBe("misconfigured");
      expect(lines).toEqual([expect.stringContaining(`misconfigured: ${reason}`)]);
    });

    test("that throws ends a large delivery as misconfigured, not as too large", async () => {
      printed();
      const { codeFor } = await served(throwing);
      expect(await codeFor(await signedInit("x".repeat(2_000_000)))).toBe("misconfigured");
    });

    test("that throws leaves bodies unread, so that unverified requests take no memory", async () => {
      printed();
      const bodiesUsed: boolean[] = [];
      const { codeFor } = await served(throwing, async (c, next) => {
        await next();
        bodiesUsed.push(c.req.raw.bodyUsed);
      });
      const body = Buffer.alloc(2_000_000, " ");
      const known = initOf(unsigned(body, { "x-svc-signature": forgedSignature }));
      expect(await codeFor(known)).toBe("misconfigured");
      const stream = new Blob([body]).stream();
      expect(await codeFor({ ...known, body: stream, duplex: "half" })).toBe("misconfigured");
      expect(bodiesUsed).toEqual([false, false]);
    });
  });
});

describe("the execution context", () => {
  /** An execution context whose methods fail on another `this`, as on Workers. */
  class WorkerContext {
    readonly props = {};
    readonly works: Promise<unknown>[] = [];

    waitUntil(work: Promise<unknown>) {
      this.works.push(work);
    }

    passThroughOnException() {}
  }

  const slow = () => observedReceiver({ on: { "*": async () => {} } });

  const appOf = ({ receiver }: { receiver: Receiver }) =>
    new Hono().post("/webhooks", webhooks(receiver));

  const ask = async (
    app: Hono,
    context: WorkerContext | undefined,
    { init, bindings = {} }: { init?: RequestInit; bindings?: object } = {},
  ) => codeOf(await app.request("/webhooks", init ?? (await signedInit()), bindings, context));

  test("receives the run through a bound waitUntil", async () => {
    const finished = gate();
    const observed = observedReceiver({ handlerTimeoutMs: 1, on: { "*": () => finished.opened } });
    const context = new WorkerContext();
    expect(await ask(appOf(observed), context)).toBe("handler_timeout");
    expect(context.works).toHaveLength(1);
    const settled = observed.reported("processed");
    finished.open();
    await Promise.all(context.works);
    expect(await settled).toMatchObject({ phase: "settled" });
    expect(observed.internalErrors).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["a string", "on"],
    ["an object with a socket", { socket: {} }],
    [
      "a service, which has every property as a function",
      new Proxy(() => {}, { get: () => () => {} }),
    ],
  ])("is used when a binding named incoming holds %s", async (_what, incoming) => {
    const context = new WorkerContext();
    await ask(appOf(slow()), context, { bindings: { incoming } });
    expect(context.works).toHaveLength(1);
  });

  test("is not accessed on @hono/node-server, where the access throws", async () => {
    let accesses = 0;
    const app = new Hono()
      .use(
        middlewareOf((c) =>
          Object.defineProperty(c, "executionCtx", { get: () => void (accesses += 1) }),
        ),
      )
      .post("/webhooks", webhooks(observedReceiver().receiver));
    const port = await listen(getRequestListener(app.fetch));
    const response = await fetch(`http://127.0.0.1:${port}/webhooks`, await signedInit());
    expect(await codeOf(response)).toBe("processed");
    expect(accesses).toBe(0);
    await app.request("/webhooks", await signedInit());
    expect(accesses).toBe(1);
  });

  test("is read again for each request", async () => {
    const app = appOf(slow());
    const contexts = [new WorkerContext(), new WorkerContext()];
    for (const [index, context] of contexts.entries()) {
      await ask(app, context, { init: await another(`dlv_${index}`) });
    }
    expect(contexts.map(({ works }) => works.length)).toEqual([1, 1]);
  });

  test("receives nothing for deliveries that run no handler", async () => {
    const app = appOf(observedReceiver());
    const context = new WorkerContext();
    for (const init of [initOf(unsigned()), await signedInit("{")]) {
      await ask(app, context, { init });
    }
    expect(context.works).toEqual([]);
  });

  test.each([
    ["missing", undefined],
    ["without waitUntil", {} as WorkerContext],
  ])("may be %s", async (_what, context) => {
    const observed = observedReceiver();
    expect(await ask(appOf(observed), context)).toBe("processed");
    expect(observed.internalErrors).toEqual([]);
    expect(observed.lines).toEqual([]);
  });

  test("whose waitUntil throws changes no outcome", async () => {
    const observed = slow();
    const waitUntil = () => {
      throw new Error("too late");
    };
    const refusing = Object.assign(new WorkerContext(), { waitUntil });
    expect(await ask(appOf(observed), refusing)).toBe("processed");
    expect(observed.internalErrors).toEqual([new Error("too late")]);
  });
});
