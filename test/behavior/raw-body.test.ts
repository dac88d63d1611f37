import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { serverProcess } from "@svc-webhooks/kit/server-process";
import { listen, platforms, type Middleware } from "@svc-webhooks/kit/servers";

const withRawBody =
  (rawBody: unknown): Middleware =>
  (request, _response, next) => {
    request.rawBody = rawBody;
    next();
  };

const emptied: Middleware = (request, _response, next) => {
  request.body = {};
  next();
};

describe.each(platforms)("on $name", ({ name, mount, parsers }) => {
  /** Serves a receiver mounted behind the given middleware. */
  async function served(...before: readonly Middleware[]) {
    const { receiver, lines } = observedReceiver();
    const port = await listen(mount(receiver, ...before));
    const sent = async (...delivery: Parameters<typeof signed>) =>
      (await send(port, await signed(...delivery))).code;
    return { port, lines, sent };
  }

  test.each<[string, Middleware, string]>([
    ["a JSON parser", parsers.json(), "a body parser has left a parsed value in req.body"],
    ["a text parser", parsers.text({ type: "*/*" }), "a body parser has left text in req.body"],
  ])("trap 13: reports %s that ran first, and does not trust its result", async (...given) => {
    const [, parser, fact] = given;
    const { sent, lines } = await served(parser);
    expect(await sent()).toBe("body_unavailable");
    expect(lines).toEqual([expect.stringContaining(fact)]);
  });

  test.each<[string, readonly Middleware[]]>([
    ["takes the bytes that a raw parser kept", [parsers.raw({ type: "*/*" })]],
    ["reads the stream if a raw parser skipped the content type", [parsers.raw()]],
    [
      "reads the stream if parsers set req.body to {} without reading it",
      [parsers.urlencoded({ extended: false }), emptied],
    ],
  ])("trap 13: %s", async (_what, before) => {
    const { sent } = await served(...before);
    expect(await sent()).toBe("processed");
  });

  test("trap 13: uses the bytes that a verify hook kept, and reads the stream if the hook did not run", async () => {
    const { sent } = await served(
      parsers.json({
        verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }),
      }),
    );
    expect(await sent()).toBe("processed");
    const otherType = { "content-type": "application/x-other", "x-svc-delivery-id": "dlv_2" };
    expect(await sent(eventBody(), otherType)).toBe("processed");
  });

  test("trap 13: the parsers' 100 kB limit does not apply if the receiver reads the body", async () => {
    const { sent } = await served();
    expect(await sent(eventBody("email.sent", { html: "x".repeat(200_000) }))).toBe("processed");
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
    const consumed = await served(parsers.json(), withRawBody(rawBody));
    expect(await consumed.sent()).toBe("body_unavailable");
    expect(consumed.lines[0]).toContain(`req.rawBody holds ${kind}, not bytes`);

    const untouched = await served(withRawBody(rawBody));
    expect(await untouched.sent()).toBe("processed");
  });

  test("trap 18: a host that would make an invalid URL has no effect, because no URL is built", async () => {
    const { port } = await served();
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

  test("trap 20: responds without waiting if the stream was already read to its end", async () => {
    const { sent, lines } = await served(async (request, _response, next) => {
      for await (const chunk of request) void chunk;
      next();
    });
    expect(await sent()).toBe("body_unavailable");
    expect(lines[0]).toContain("the request stream has been read before");
  });

  test("trap 20: responds without waiting if part of the stream was already read", async () => {
    const { sent } = await served((request, _response, next) => {
      request.once("data", () => {
        request.pause();
        next();
      });
    });
    expect(await sent()).toBe("body_unavailable");
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

  test("trap 43: a truncated body is reported with its length, not as a forged signature", async () => {
    const { sent, lines } = await served(withRawBody(Buffer.from(eventBody()).subarray(0, 10)));
    expect(await sent()).toBe("body_unavailable");
    expect(lines).toEqual([expect.stringMatching(/cut .*10 of 21 bytes/)]);
  });

  test("trap 49: responds to an unsigned request before its body is sent", async () => {
    const reads: boolean[] = [];
    const { port } = await served((request, response, next) => {
      response.on("finish", () => reads.push(request.readableDidRead));
      next();
    });
    const client = dial(port);
    client.write(requestHead(unsigned(eventBody(), { "content-length": "1000000" }).headers));
    expect(await client.response).toMatch(/^HTTP\/1.1 401 [^]*"signature_missing"/);
    expect(reads).toEqual([false]);
  });
});
