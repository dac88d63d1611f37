import { createServer } from "node:http";
import { webhooks } from "@svc-webhooks/node";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, oneConnection, requestHead, send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { listen, platforms, type Middleware } from "@svc-webhooks/kit/servers";
import { settled } from "@svc-webhooks/kit/settled";
import { collectGarbage } from "./collect-garbage.js";

const large = "x".repeat(300_000);

test("returns a handler that createServer accepts", async () => {
  const server = createServer(webhooks(observedReceiver().receiver));
  expect(server.listenerCount("request")).toBe(1);
});

test("responds to every request, whatever its path", async () => {
  const port = await listen(webhooks(observedReceiver().receiver));
  expect(await send(port, await signed(), { path: "/" })).toMatchObject({ code: "processed" });
  expect(await send(port, await signed(), { path: "//a?b#c" })).toMatchObject({
    code: "duplicate",
  });
});

test("responds to HEAD without a body", async () => {
  const port = await listen(webhooks(observedReceiver().receiver));
  const reply = await send(port, { headers: {}, body: Buffer.alloc(0) }, { method: "HEAD" });
  expect(reply).toMatchObject({ status: 405, text: "", headers: { allow: "POST" } });
});

test("ignores a signature in the trailers of a request", async () => {
  const port = await listen(webhooks(observedReceiver().receiver));
  const { headers } = unsigned(eventBody(), {
    "transfer-encoding": "chunked",
    trailer: "x-svc-signature",
  });
  const signature = (await signed()).headers["x-svc-signature"];
  const body = eventBody();
  const client = dial(port);
  client.write(requestHead(headers));
  client.write(
    `${body.length.toString(16)}\r\n${body}\r\n0\r\nx-svc-signature: ${String(signature)}\r\n\r\n`,
  );
  expect(await client.response).toMatch(/^HTTP\/1.1 401 [^]*"signature_missing"/);
});

test.each([
  [{}, "let the receiver read the request first"],
  [{ fix: "turn the parser off" }, "turn the parser off"],
])("with the options %j logs the fix: %s", async (options, fix) => {
  const { receiver, lines } = observedReceiver();
  const handler = webhooks(receiver, options);
  const port = await listen(async (request, response) => {
    for await (const chunk of request) void chunk;
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
      // As a wrapper does for a sender that expects another status.
      receive: async (delivery) => Object.assign(await receiver.receive(delivery), { status }),
    }),
  );
  for (status of [202, 200, 201]) {
    const delivery = await signed(eventBody(), { "x-svc-delivery-id": `dlv_${status}` });
    expect(await send(port, delivery)).toMatchObject({ status, code: "processed" });
  }
});

describe.each(platforms)("on $name", ({ mount }) => {
  /** The `console.error` lines of the adapter. */
  function printed(): readonly unknown[][] {
    const print = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => print.mockRestore());
    return print.mock.calls;
  }

  test("leaves a response that something else has sent unchanged", async () => {
    const calls = printed();
    const { receiver, reported } = observedReceiver();
    const port = await listen(
      mount(receiver, (_request, response, next) => {
        response.writeHead(202).end("early");
        next();
      }),
    );
    expect(await send(port, await signed())).toMatchObject({ status: 202, text: "early" });
    await reported("processed");
    expect(calls).toEqual([]);
  });

  test("leaves a response that something else began during the handler unchanged", async () => {
    const calls = printed();
    const [started, finish, end] = [gate(), gate(), gate()];
    const { receiver, reported } = observedReceiver({
      on: {
        "*": () => {
          started.open();
          return finish.opened;
        },
      },
    });
    const port = await listen(
      mount(receiver, (_request, response, next) => {
        void started.opened
          .then(() => response.writeHead(503).write("time"))
          .then(() => finish.open());
        void end.opened.then(() => response.end("out"));
        next();
      }),
    );
    const reply = send(port, await signed());
    await reported("processed");
    // The adapter receives the outcome right after the observer.
    await settled();
    end.open();
    expect(await reply).toMatchObject({ status: 503, text: "timeout" });
    expect(calls).toEqual([]);
  });

  test("leaves a destroyed response alone", async () => {
    const calls = printed();
    const { receiver, reported } = observedReceiver({ maxBodyBytes: 1 });
    const port = await listen(
      mount(receiver, (_request, response, next) => {
        response.destroy();
        next();
      }),
    );
    await expect(send(port, await signed())).rejects.toMatchObject({ code: "ECONNRESET" });
    await reported("body_too_large");
    expect(calls).toEqual([]);
  });

  test("processes a delivery whose client disconnects after its body was read", async () => {
    const calls = printed();
    const [started, finish] = [gate(), gate()];
    const { receiver, reported } = observedReceiver({
      on: {
        "*": () => {
          started.open();
          return finish.opened;
        },
      },
    });
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

  test("destroys a response that cannot be written", async () => {
    const calls = printed();
    const { receiver } = observedReceiver();
    const port = await listen(
      mount(receiver, (_request, response, next) => {
        response.writeHead = () => {
          throw new Error("patched");
        };
        next();
      }),
    );
    await expect(send(port, await signed())).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(calls).toEqual([[expect.any(String), expect.objectContaining({ message: "patched" })]]);
  });

  describe("a body that does not arrive in time", () => {
    /** A server with one request whose body has begun to arrive. */
    async function stalled(respond?: Middleware) {
      const clock = fakeClock();
      const [reading, closed] = [gate(), gate()];
      const { receiver, codes } = observedReceiver({ clock, bodyTimeoutMs: 1_000 });
      const port = await listen(
        mount(receiver, (request, response, next) => {
          request.once("data", () => reading.open());
          request.once("close", () => closed.open());
          next();
          respond?.(request, response, next);
        }),
      );
      const client = dial(port);
      const { headers } = await signed(eventBody(), { "content-length": "100" });
      client.write(`${requestHead(headers)}{"type"`);
      await reading.opened;
      await settled();
      await clock.advance(999);
      expect(codes()).toEqual([]);
      await clock.advance(1);
      return { client, closed };
    }

    test("gets 408, and its connection is closed", async () => {
      const { client, closed } = await stalled();
      const received = await client.closed;
      expect(received).toMatch(/^HTTP\/1.1 408 [^]*\r\n\r\n.*"body_timeout"/);
      expect(received).toMatch(/^connection: close\r$/im);
      expect(received.match(/^connection:/gim)).toHaveLength(1);
      await closed.opened;
    });

    test("loses its connection even if something else has responded", async () => {
      const { client, closed } = await stalled((_request, response) => {
        response.writeHead(503, { "content-length": "0" }).end();
      });
      expect(await client.closed).toMatch(/^HTTP\/1.1 503 (?![^]*HTTP)/);
      await closed.opened;
    });

    test("is released even if an earlier response keeps the 408 waiting", async () => {
      const clock = fakeClock();
      const reading = gate();
      const pieces: WeakRef<Buffer>[] = [];
      const { receiver, reported } = observedReceiver({ clock, bodyTimeoutMs: 1_000 });
      const port = await listen(
        mount(receiver, (request, _response, next) => {
          // HTTP/1 sends responses in the order of their requests, and this one gets none.
          if (request.method === "GET") return;
          request.on("data", (chunk: Buffer) => {
            pieces.push(new WeakRef(chunk));
            reading.open();
          });
          next();
        }),
      );
      const { headers } = await signed(eventBody(), { "content-length": "100" });
      dial(port).write(`${requestHead({}, "GET / HTTP/1.1")}${requestHead(headers)}{"type"`);
      await reading.opened;
      await settled();
      await clock.advance(1_000);
      await reported("body_timeout");
      await settled();
      collectGarbage();
      expect(pieces.map((piece) => piece.deref())).toEqual([undefined]);
    });
  });

  test.each([
    ["a large body that is not read", "signature_missing", {}, false],
    ["a large chunked body that is not read", "signature_missing", {}, true],
    ["a body whose Content-Length is too large", "body_too_large", { maxBodyBytes: 1_000 }, false],
    ["a chunked body that is too large", "body_too_large", { maxBodyBytes: 1_000 }, true],
  ] as const)("keeps the connection usable after %s", async (_what, code, options, chunked) => {
    const { receiver } = observedReceiver(options);
    const port = await listen(mount(receiver));
    const agent = oneConnection();
    const refused = code === "signature_missing" ? unsigned(large) : await signed(large);
    expect(await send(port, refused, { agent, chunked })).toMatchObject({ code });
    expect(await send(port, await signed(), { agent })).toMatchObject({
      code: "processed",
      reusedConnection: true,
    });
  });
});
