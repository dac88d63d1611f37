import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, requestHead, send } from "../support/clients.js";
import { eventBody, signed, unsigned } from "../support/deliveries.js";
import { gate } from "../support/gate.js";
import { observedReceiver, recordedStore } from "../support/receivers.js";
import { serverProcess } from "../support/server-process.js";
import { listen, platforms, type Middleware } from "../support/servers.js";

describe.each(platforms)("on $name", ({ name, mount, parsers }) => {
  test("trap 13: a body parser that has parsed the body is named, not trusted", async () => {
    const { receiver, lines } = observedReceiver();
    const port = await listen(mount(receiver, parsers.json()));
    expect(await send(port, await signed())).toMatchObject({
      status: 500,
      code: "body_unavailable",
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("a body parser has left a parsed value in req.body");
  });

  test("trap 13: a text parser is named as well", async () => {
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

  test("trap 13: a raw parser of another content type leaves the stream, and it is read", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver, parsers.raw()));
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 13: parsers that leave {} on a stream they never read hide nothing", async () => {
    const { receiver } = observedReceiver();
    const empty: Middleware = (request, _response, next) => {
      request.body = {};
      next();
    };
    const port = await listen(mount(receiver, parsers.urlencoded({ extended: false }), empty));
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 13: a verify hook that fired keeps the bytes, one that did not is not missed", async () => {
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

  test("trap 13: the parsers' 100 kB limit does not apply in front of them", async () => {
    const { receiver } = observedReceiver();
    const port = await listen(mount(receiver));
    const body = eventBody("email.sent", { html: "x".repeat(200_000) });
    expect(await send(port, await signed(body))).toMatchObject({ code: "processed" });
  });

  test("trap 14: a rejection that reaches the adapter hangs up and ends nothing else", async () => {
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
  ])("trap 15: req.rawBody with %s in it is not taken for bytes", async (kind, rawBody) => {
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

  test("trap 18: no URL is built: a host that would break one changes nothing", async () => {
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
    ["an announced", { "content-length": "1000" }, eventBody()],
    ["a chunked", { "transfer-encoding": "chunked" }, `5\r\n{"typ`],
  ])(
    "trap 19: a client that hangs up in the middle of %s body claims nothing",
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

  test("trap 20: a stream that something else has read to its end is answered, not waited for", async () => {
    const { receiver, lines } = observedReceiver();
    const consuming: Middleware = async (request, _response, next) => {
      for await (const chunk of request) void chunk;
      next();
    };
    const port = await listen(mount(receiver, consuming));
    expect(await send(port, await signed())).toMatchObject({ code: "body_unavailable" });
    expect(lines[0]).toContain("the request stream has been read before");
  });

  test("trap 20: a stream of which something else has read a part is answered as well", async () => {
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
    ["right after it has called next()", "turn()"],
    ["once bytes have arrived", "request.once('data', turn)"],
    ["while bytes are on their way", "setImmediate(turn)"],
  ])("middleware that turns the stream to text %s ends no process", async (_when, touch) => {
    const { port, message } = await serverProcess(
      name,
      `(request, _response, next) => {
        const turn = () => {
          request.setEncoding("utf8");
          process.send("turned");
        };
        next();
        if (request.headers["x-text"]) ${touch};
      }`,
    );
    const headers = { "transfer-encoding": "chunked", "x-text": "1" };
    const client = dial(port);
    const turned = message();
    client.write(`${requestHead((await signed(eventBody(), headers)).headers)}5\r\n{"typ\r\n`);
    await turned;
    client.write(`10\r\ne":"email.sent"}\r\n0\r\n\r\n`);
    expect(await client.response).toMatch(/^HTTP\/1.1 500 [^]*"body_unavailable"/);
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("trap 43: bytes that were cut on the way are told from a forged signature", async () => {
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

  test("trap 49: an unsigned request is answered before its body is sent", async () => {
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
