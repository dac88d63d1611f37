import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver, recordedStore } from "@svc-webhooks/kit/receivers";
import { serverProcess } from "@svc-webhooks/kit/server-process";
import { listen, platforms, type Middleware } from "@svc-webhooks/kit/servers";

describe.each(platforms)("on $name", ({ name, mount, parsers }) => {
  test("trap 13: reports a body parser that ran first, and does not trust its result", async () => {
    const { receiver, lines } = observedReceiver();
    const port = await listen(mount(receiver, parsers.json()));
    expect(await send(port, await signed())).toMatchObject({
      status: 500,
      code: "body_unavailable",
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("a body parser has left a parsed value in req.body");
  });

  test("trap 13: reports a text parser that ran first", async () => {
    const { receiver, lines } = observedReceiver();
    const port = await listen(mount(receiver, parsers.text({ type: "*/*" })));
    expect(await send(port, await signed())).toMatchObject({ code: "body_unavailable" });
    expect(lines[0]).toContain("a body parser has left text in req.body");
  });

  test("trap 13: a raw parser keeps the bytes", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver, parsers.raw({ type: "*/*" })));
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 13: reads the stream if a raw parser skipped the content type", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver, parsers.raw()));
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 13: reads the stream if parsers set req.body to {} without reading it", async () => {
    const { receiver } = observedReceiver();
    const empty: Middleware = (request, _response, next) => {
      request.body = {};
      next();
    };
    const port = await listen(mount(receiver, parsers.urlencoded({ extended: false }), empty));
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 13: uses the bytes that a verify hook kept, and reads the stream if the hook did not run", async () => {
    const { receiver } = observedReceiver();
    const keeping = parsers.json({
      verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }),
    });
    const port = await listen(mount(receiver, keeping));
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
    const otherType = { "content-type": "application/x-other", "x-svc-delivery-id": "dlv_2" };
    expect(await send(port, await signed(eventBody(), otherType))).toMatchObject({
      code: "processed",
    });
  });

  test("trap 13: the parsers' 100 kB limit does not apply if the receiver reads the body", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    const body = eventBody("email.sent", { html: "x".repeat(200_000) });
    expect(await send(port, await signed(body))).toMatchObject({ code: "processed" });
  });

  test("trap 14: a rejection that reaches the adapter closes the connection, and the server keeps serving", async () => {
    const print = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => print.mockRestore());
    const { receiver } = observedReceiver();
    let broken = true;
    const port = await listen(
      mount({
        receive: (delivery) =>
          broken ? Promise.reject(new Error("unexpected")) : receiver.receive(delivery),
      }),
    );
    await expect(send(port, await signed())).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(print).toHaveBeenCalledTimes(1);
    broken = false;
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test.each([
    ["a parsed value", { type: "email.sent" }],
    ["text", eventBody()],
  ])("trap 15: req.rawBody that holds %s is not treated as bytes", async (kind, rawBody) => {
    const { receiver, lines } = observedReceiver();
    const misplaced: Middleware = (request, _response, next) => {
      request.rawBody = rawBody;
      next();
    };
    const consumed = await listen(mount(receiver, parsers.json(), misplaced));
    expect(await send(consumed, await signed())).toMatchObject({ code: "body_unavailable" });
    expect(lines[0]).toContain(`req.rawBody holds ${kind}, not bytes`);

    const untouched = await listen(mount(receiver, misplaced));
    expect(await send(untouched, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 18: a host that would make an invalid URL has no effect, because no URL is built", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    const { headers, body } = await signed(eventBody(), {
      host: "[",
      forwarded: "host=%;proto=%",
      "x-forwarded-host": "a b/../@c:99999",
      "x-forwarded-proto": "javascript",
      connection: "close",
      "content-length": String(eventBody().length),
    });
    const client = dial(port);
    client.write(requestHead(headers));
    client.write(body);
    expect(await client.closed).toMatch(/^HTTP\/1.1 200 [^]*"processed"/);
  });

  test.each([
    ["a fixed-length", { "content-length": "1000" }, eventBody()],
    ["a chunked", { "transfer-encoding": "chunked" }, `5\r\n{"typ`],
  ])(
    "trap 19: nothing is claimed if the client disconnects in the middle of %s body",
    async (_kind, framing, start) => {
      const { store, calls } = recordedStore();
      const { receiver, reported, codes, lines } = observedReceiver({ store });
      const reading = gate();
      const port = await listen(
        mount(receiver, (_request, _response, next) => {
          next();
          reading.open();
        }),
      );
      const client = dial(port);
      client.write(requestHead((await signed(eventBody(), framing)).headers) + start);
      await reading.opened;
      client.destroy();
      await reported("aborted");
      expect(codes()).toEqual(["aborted"]);
      expect(calls).toEqual([]);
      expect(lines).toEqual([]);
    },
  );

  test("trap 20: responds without waiting if the stream was already read to its end", async () => {
    const { receiver, lines } = observedReceiver();
    const consuming: Middleware = async (request, _response, next) => {
      for await (const chunk of request) void chunk;
      next();
    };
    const port = await listen(mount(receiver, consuming));
    expect(await send(port, await signed())).toMatchObject({ code: "body_unavailable" });
    expect(lines[0]).toContain("the request stream has been read before");
  });

  test("trap 20: responds without waiting if part of the stream was already read", async () => {
    const { receiver } = observedReceiver();
    const peeking: Middleware = (request, _response, next) => {
      request.once("data", () => {
        request.pause();
        next();
      });
    };
    const port = await listen(mount(receiver, peeking));
    expect(await send(port, await signed())).toMatchObject({ code: "body_unavailable" });
  });

  test.each([
    ["right after calling next()", "decode()"],
    ["once bytes have arrived", "request.once('data', decode)"],
    ["while bytes are in transit", "setImmediate(decode)"],
  ])("middleware that calls setEncoding() %s does not crash the process", async (_when, touch) => {
    const { port, message } = await serverProcess(
      name,
      `(request, _response, next) => {
        const decode = () => {
          request.setEncoding("utf8");
          process.send("decoded");
        };
        next();
        if (request.headers["x-text"]) ${touch};
      }`,
    );
    const headers = { "transfer-encoding": "chunked", "x-text": "1" };
    const client = dial(port);
    const decoded = message();
    client.write(`${requestHead((await signed(eventBody(), headers)).headers)}5\r\n{"typ\r\n`);
    await decoded;
    client.write(`10\r\ne":"email.sent"}\r\n0\r\n\r\n`);
    expect(await client.response).toMatch(/^HTTP\/1.1 500 [^]*"body_unavailable"/);
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 43: a truncated body is reported as unavailable, not as a forged signature", async () => {
    const { receiver, lines } = observedReceiver();
    const cutting: Middleware = (request, _response, next) => {
      request.rawBody = Buffer.from(eventBody()).subarray(0, 10);
      next();
    };
    const port = await listen(mount(receiver, cutting));
    expect(await send(port, await signed())).toMatchObject({
      status: 500,
      code: "body_unavailable",
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/cut .*10 of 21 bytes/);
  });

  test("trap 49: responds to an unsigned request before its body is sent", async () => {
    const { receiver } = observedReceiver();
    const reads: boolean[] = [];
    const watching: Middleware = (request, response, next) => {
      response.on("finish", () => reads.push(request.readableDidRead));
      next();
    };
    const port = await listen(mount(receiver, watching));
    const { headers } = unsigned(eventBody(), { "content-length": "1000000" });
    const client = dial(port);
    client.write(requestHead(headers));
    expect(await client.response).toMatch(/^HTTP\/1.1 401 [^]*"signature_missing"/);
    expect(reads).toEqual([false]);
  });
});
