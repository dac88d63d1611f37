import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Outcome, Receiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, oneConnection, requestHead, send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { remaining } from "@svc-webhooks/kit/garbage";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { listen, platforms, type Middleware } from "@svc-webhooks/kit/servers";
import { settled } from "@svc-webhooks/kit/settled";

const large = "x".repeat(300_000);
const tooLarge = await signed(large);
const chunked = { chunked: true };

test("responds to every request, whatever its path", async () => {
  const port = await listen(webhooks(observedReceiver().receiver));
  const ask = async (path: string) => (await send(port, await signed(), { path })).code;
  expect([await ask("/"), await ask("//a?b#c")]).toEqual(["processed", "duplicate"]);
});

test("a 204 has no Content-Length, and its connection serves the next delivery", async () => {
  const { receiver } = observedReceiver();
  const reply = { status: 204, body: "" };
  const port = await listen(
    webhooks({
      receive: async (...given) => ({ ...(await receiver.receive(...given)), reply }),
    }),
  );
  const client = dial(port);
  for (const end of ["keep-alive", "close"]) {
    const { headers, body } = await signed(eventBody(), { connection: end });
    const length = String(body.length);
    client.write(requestHead({ ...headers, "content-length": length }));
    client.write(String(body));
  }
  const responses = await client.closed;
  expect(responses.match(/^HTTP\/1.1 204 /gm)).toHaveLength(2);
  expect(responses).not.toMatch(/content-length|transfer-encoding/i);
});

test("ignores a signature in the trailers of a request", async () => {
  const port = await listen(webhooks(observedReceiver().receiver));
  const { headers } = unsigned("", { "transfer-encoding": "chunked", trailer: "x-svc-signature" });
  const { headers: signedHeaders, body } = await signed();
  const signature = String(signedHeaders["x-svc-signature"]);
  const client = dial(port);
  client.write(requestHead(headers));
  client.write(
    `${body.length.toString(16)}\r\n${String(body)}\r\n0\r\nx-svc-signature: ${signature}\r\n\r\n`,
  );
  expect(await client.response).toMatch(/^HTTP\/1.1 401 [^]*"signature_missing"/);
});

test("responds to a body without an end, which the server's requestTimeout cuts", async () => {
  const limits = { headersTimeout: 2_000, requestTimeout: 2_000, connectionsCheckingInterval: 100 };
  const server = createServer(limits, webhooks(observedReceiver().receiver));
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const client = dial((server.address() as AddressInfo).port);
  client.write(requestHead(unsigned("", { "transfer-encoding": "chunked" }).headers));
  client.write("1\r\nx\r\n");
  expect(await client.closed).toMatch(/^HTTP\/1.1 401 [^]*"signature_missing"/);
});

test.each([
  [{}, "let the receiver read the request first"],
  [{ fix: "turn the parser off" }, "turn the parser off"],
])("with the options %j logs the fix: %s", async (options, fix) => {
  const { receiver, lines } = observedReceiver();
  const handler = webhooks(receiver, options);
  const port = await listen(async (request, response) => {
    await buffer(request);
    await handler(request, response);
  });
  expect(await send(port, await signed())).toMatchObject({ code: "body_unavailable" });
  expect(lines).toEqual([expect.stringContaining(`; ${fix}`)]);
});

test("builds each response from the outcome that a wrapped receiver returns", async () => {
  const { receiver } = observedReceiver();
  let status: number;
  const port = await listen(
    webhooks({
      // A wrapper changes the status for a sender that expects another one.
      receive: async (delivery) => Object.assign(await receiver.receive(delivery), { status }),
    }),
  );
  for (status of [202, 200, 201]) {
    const delivery = await signed(eventBody(), { "x-svc-delivery-id": `dlv_${status}` });
    expect(await send(port, delivery)).toMatchObject({ status, code: "processed" });
  }
});

describe("a function that wraps receive is never bypassed", () => {
  const { receiver } = observedReceiver();
  const wrapped: Receiver["receive"] = async (...given) =>
    Object.assign(await receiver.receive(...given), { status: 202 });
  const copy = Object.assign(wrapped.bind(undefined), receiver.receive);
  const heir = Object.setPrototypeOf(wrapped.bind(undefined), receiver.receive) as typeof wrapped;
  const proxy = new Proxy(receiver.receive, {
    apply: async (_receive, _this, given: Parameters<typeof wrapped>) => wrapped(...given),
  });
  const readable = new Proxy(receiver.receive, {
    get: (receive, key) => Reflect.get(receive, key) as unknown,
    apply: async (_receive, _this, given: Parameters<typeof wrapped>) => wrapped(...given),
  });

  test.each([
    ["in an object of its own", { receive: wrapped }],
    ["in a copy of the receiver", { ...receiver, receive: wrapped }],
    ["if it has the properties of `receive`", { receive: copy }],
    ["if it inherits from `receive`", { receive: heir }],
    ["if it is a Proxy", { receive: proxy }],
    ["if it is a Proxy that reads properties from `receive`", { receive: readable }],
  ])("%s", async (_, wrapper) => {
    const port = await listen(webhooks(wrapper));
    expect(await send(port, await signed())).toMatchObject({ status: 202 });
  });

  test("if it replaces `receive` of a mounted receiver", async () => {
    const mounted = { ...receiver };
    const port = await listen(webhooks(mounted));
    Object.assign(mounted, { receive: wrapped });
    expect(await send(port, await signed())).toMatchObject({ status: 202 });
  });
});

test("responds once if a wrapped receiver returns a thenable that settles twice", async () => {
  const print = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => print.mockRestore());
  const { receiver } = observedReceiver();
  const thenableOf = (promise: Promise<Outcome>) => ({
    // oxlint-disable-next-line unicorn/no-thenable -- settles twice, unlike a promise
    async then(resolve: (outcome: Outcome) => void, reject: (error: Error) => void) {
      resolve(await promise);
      reject(new Error("late"));
    },
  });
  const handler = webhooks({
    receive: (delivery) => thenableOf(receiver.receive(delivery)) as unknown as Promise<Outcome>,
  });
  const returned: unknown[] = [];
  const port = await listen((...exchange) => void returned.push(handler(...exchange)));
  expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  expect(returned).toEqual([expect.any(Promise)]);
  expect(print).not.toHaveBeenCalled();
});

describe.each(platforms)("on $name", ({ mount }) => {
  /** Returns the `console.error` lines of the adapter. */
  function printed(): readonly unknown[][] {
    const print = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => print.mockRestore());
    return print.mock.calls;
  }

  /** Returns a receiver whose handler opens `started` and waits for `finish`. */
  function waitingReceiver() {
    const [started, finish] = [gate(), gate()];
    const handler = () => {
      started.open();
      return finish.opened;
    };
    return { ...observedReceiver({ on: { "*": handler } }), started, finish };
  }

  test("leaves a response that something else has sent unchanged", async () => {
    const calls = printed();
    const { receiver, reported } = observedReceiver();
    const responds: Middleware = (_request, response, next) => {
      response.writeHead(202).end("early");
      next();
    };
    const port = await listen(mount(receiver, responds));
    expect(await send(port, await signed())).toMatchObject({ status: 202, text: "early" });
    await reported("processed");
    expect(calls).toEqual([]);
  });

  test("leaves a response that something else began during the handler unchanged", async () => {
    const calls = printed();
    const { receiver, reported, started, finish } = waitingReceiver();
    const end = gate();
    const timesOut: Middleware = (_request, response, next) => {
      void started.opened
        .then(() => response.writeHead(503).write("time"))
        .then(() => finish.open());
      void end.opened.then(() => response.end("out"));
      next();
    };
    const port = await listen(mount(receiver, timesOut));
    const reply = send(port, await signed());
    await reported("processed");
    // The adapter receives the outcome right after the observer.
    await settled();
    end.open();
    expect(await reply).toMatchObject({ status: 503, text: "timeout" });
    expect(calls).toEqual([]);
  });

  describe("a response whose headers middleware has sent", () => {
    const flushes: Middleware = (_request, response, next) => {
      response.flushHeaders();
      next();
    };

    const line = [
      "svc-webhooks: the response is incomplete:",
      expect.objectContaining({ message: "middleware sent the headers" }),
    ];

    test("is ended if its status is that of the outcome", async () => {
      const calls = printed();
      const port = await listen(mount(observedReceiver().receiver, flushes));
      expect(await send(port, await signed())).toMatchObject({ status: 200, code: "processed" });
      expect(calls).toEqual([line]);
    });

    test("is not destroyed while middleware delays its end", async () => {
      printed();
      const delays: Middleware = (_request, response, next) => {
        const end = response.end.bind(response) as (body: unknown) => void;
        // A compressing middleware ends the response once its stream has ended.
        Object.assign(response, { end: (body: unknown) => void setImmediate(() => end(body)) });
        next();
      };
      const port = await listen(mount(observedReceiver().receiver, flushes, delays));
      expect(await send(port, await signed())).toMatchObject({ status: 200, code: "processed" });
    });

    test("is destroyed if its status is another one", async () => {
      const calls = printed();
      const port = await listen(mount(observedReceiver().receiver, flushes));
      await expect(send(port, unsigned())).rejects.toMatchObject({ code: "ECONNRESET" });
      expect(calls).toEqual([line]);
    });
  });

  test("leaves a destroyed response alone", async () => {
    const calls = printed();
    const { receiver, reported } = observedReceiver({ maxBodyBytes: 1 });
    const destroys: Middleware = (_request, response, next) => {
      response.destroy();
      next();
    };
    const port = await listen(mount(receiver, destroys));
    await expect(send(port, await signed())).rejects.toMatchObject({ code: "ECONNRESET" });
    await reported("body_too_large");
    expect(calls).toEqual([]);
  });

  test("destroys a response that cannot be written", async () => {
    const calls = printed();
    const breaks: Middleware = (_request, response, next) => {
      response.writeHead = () => {
        throw new Error("patched");
      };
      next();
    };
    const port = await listen(mount(observedReceiver().receiver, breaks));
    await expect(send(port, await signed())).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(calls).toEqual([[expect.any(String), expect.objectContaining({ message: "patched" })]]);
  });

  test("processes a delivery whose client disconnects after its body was read", async () => {
    const calls = printed();
    const { receiver, reported, started, finish } = waitingReceiver();
    const port = await listen(mount(receiver));
    const { headers, body } = await signed();
    const client = dial(port);
    client.write(requestHead({ ...headers, "content-length": String(body.length) }));
    client.write(body);
    await started.opened;
    client.destroy();
    await client.closed;
    finish.open();
    await reported("processed");
    expect(await send(port, await signed())).toMatchObject({ code: "duplicate" });
    expect(calls).toEqual([]);
  });

  describe("a body that does not arrive in time", () => {
    /** Begins to send a body of which only the first piece arrives. */
    async function stalled(middleware: Middleware, before = "") {
      const clock = fakeClock();
      const [reading, closed] = [gate(), gate()];
      const pieces: WeakRef<Buffer>[] = [];
      const observed = observedReceiver({ clock, bodyTimeoutMs: 1_000 });
      const watches: Middleware = (request, _response, next) => {
        request.once("close", () => closed.open());
        if (request.method === "POST") {
          request.on("data", (chunk: Buffer) => {
            pieces.push(new WeakRef(chunk));
            reading.open();
          });
        }
        next();
      };
      const port = await listen(mount(observed.receiver, watches, middleware));
      const client = dial(port);
      const { headers } = await signed(eventBody(), { "content-length": "100" });
      client.write(`${before}${requestHead(headers)}{"type"`);
      await reading.opened;
      await settled();
      await clock.advance(999);
      expect(observed.codes()).toEqual([]);
      await clock.advance(1);
      return { ...observed, client, closed, pieces };
    }

    test("gets 408, and its connection is closed", async () => {
      const { client, closed } = await stalled((_request, _response, next) => next());
      const received = await client.closed;
      expect(received).toMatch(/^HTTP\/1.1 408 [^]*\r\n\r\n.*"body_timeout"/);
      expect(received).toMatch(/^connection: close\r$/im);
      expect(received.match(/^connection:/gim)).toHaveLength(1);
      await closed.opened;
    });

    test("loses its connection even if something else has responded", async () => {
      const { client, closed } = await stalled((_request, response, next) => {
        next();
        response.writeHead(503, { "content-length": "0" }).end();
      });
      expect(await client.closed).toMatch(/^HTTP\/1.1 503 (?![^]*HTTP)/);
      await closed.opened;
    });

    test("is released even if an earlier response keeps the 408 waiting", async () => {
      // HTTP/1 sends responses in the order of their requests, and this one gets none.
      const { reported, pieces } = await stalled(
        (request, _response, next) => {
          if (request.method !== "GET") next();
        },
        requestHead({}, "GET / HTTP/1.1"),
      );
      await reported("body_timeout");
      expect(pieces).toHaveLength(1);
      expect(await remaining(pieces)).toBe(0);
    });
  });

  test.each([
    ["a large body that is not read", unsigned(large), "signature_missing", {}],
    ["a large chunked body that is not read", unsigned(large), "signature_missing", chunked],
    ["a body whose Content-Length is too large", tooLarge, "body_too_large", {}],
    ["a chunked body that is too large", tooLarge, "body_too_large", chunked],
  ])("keeps the connection usable after %s", async (_what, refused, code, framing) => {
    const options = code === "body_too_large" ? { maxBodyBytes: 1_000 } : {};
    const port = await listen(mount(observedReceiver(options).receiver));
    const agent = oneConnection();
    expect(await send(port, refused, { agent, ...framing })).toMatchObject({ code });
    expect(await send(port, await signed(), { agent })).toMatchObject({
      code: "processed",
      reusedConnection: true,
    });
  });
});

test.each(platforms)(
  "$name: a response is the same after middleware has changed the headers of an earlier one",
  async ({ mount }) => {
    let changes = false;
    const port = await listen(
      mount(observedReceiver().receiver, (_request, response, next) => {
        const writeHead = response.writeHead.bind(response);
        if (changes) {
          response.writeHead = ((status: number, headers: Record<string, string>) => {
            headers["X-Added"] = "yes";
            headers["Content-Type"] = "text/plain";
            return writeHead(status, headers);
          }) as typeof response.writeHead;
        }
        next();
      }),
    );
    const ask = async () => {
      const { headers, code } = await send(port, await signed());
      return { code, type: headers["content-type"], added: headers["x-added"] };
    };
    await ask();
    const usual = { code: "duplicate", type: "application/json", added: undefined };
    expect(await ask()).toEqual(usual);
    changes = true;
    expect(await ask()).toEqual({ code: "duplicate", type: "text/plain", added: "yes" });
    changes = false;
    expect(await ask()).toEqual(usual);
  },
);

/** Wraps methods in functions that return nothing, as some middleware does. */
function returningNothing(object: object, ...names: readonly string[]): void {
  const methods = object as Record<string, (...args: unknown[]) => unknown>;
  for (const name of names) {
    const method = methods[name]?.bind(object);
    methods[name] = (...args) => void method?.(...args);
  }
}

test.each(platforms)("$name: responds through methods that return nothing", async ({ mount }) => {
  const port = await listen(
    mount(observedReceiver().receiver, (request, response, next) => {
      returningNothing(request, "on");
      returningNothing(response, "writeHead", "setHeader", "end");
      next();
    }),
  );
  const ask = async () => (await send(port, await signed())).code;
  expect([await ask(), await ask()]).toEqual(["processed", "duplicate"]);
});

test("a framework's own request is refused, with the fix", async () => {
  const handle = webhooks(observedReceiver().receiver);
  await expect(handle({ raw: {} } as never, {} as never)).rejects.toMatchObject({
    code: "invalid_option",
    message: expect.stringContaining("raw"),
  });
});
