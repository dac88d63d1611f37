import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { DeadlineCall } from "@svc-webhooks/core";
import { readRawBody } from "@svc-webhooks/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { remaining } from "@svc-webhooks/kit/garbage";
import { gate } from "@svc-webhooks/kit/gate";
import { listen, type TouchedRequest } from "@svc-webhooks/kit/servers";
import { settled } from "@svc-webhooks/kit/settled";

type Touch = (request: TouchedRequest) => unknown;

interface Reading {
  /** Middleware that runs before the request is read. */
  readonly touch?: Touch;
  readonly body?: string;
  readonly chunked?: boolean;
  readonly limit?: number;
  readonly call?: DeadlineCall;
}

/** Resolves to the text that was read, or the error's code and hint. */
const resultOf = (reading: Promise<Uint8Array>): Promise<unknown> =>
  reading.then(
    (bytes) => Buffer.from(bytes).toString(),
    ({ code, hint }: { code?: unknown; hint?: unknown }) => ({ code, hint }),
  );

/** Sends a request to a real server and returns the result of reading it. */
async function read(reading: Reading = {}) {
  const { touch, body = "0123456789", chunked = false, limit = 100, call } = reading;
  const result = gate<unknown>();
  const port = await listen(async (request, response) => {
    await touch?.(request);
    result.open(await resultOf(readRawBody(request, limit, call)));
    response.end();
  });
  const sent = send(port, { headers: {}, body: Buffer.from(body) }, { chunked });
  // A destroyed request gets no response.
  sent.catch(() => {});
  return result.opened;
}

/** Returns a request without a socket, as test injectors and serverless bridges create it. */
const bridged = (options: { readonly objectMode?: boolean } = {}) =>
  new Readable({ ...options, read: () => {} }) as unknown as Readable & IncomingMessage;

/** Sets properties of the request, as parsers do, after its body was consumed or before. */
const sets =
  (properties: object): Touch =>
  (request) =>
    Object.assign(request, properties);
const consumes =
  (properties: object = {}): Touch =>
  async (request) => {
    await buffer(request);
    Object.assign(request, properties);
  };

const bytes = (text: string) => new TextEncoder().encode(text);
const aborted = { code: "aborted", hint: undefined };
const tooLarge = { code: "body_too_large", hint: undefined };

describe.each([
  ["an announced", false],
  ["a chunked", true],
])("%s body", (_kind, chunked) => {
  const long = "0123456789".repeat(100_000);

  test.each<[string, Reading, unknown]>([
    ["nothing has read it", {}, "0123456789"],
    ["it is empty", { body: "" }, ""],
    [
      "it is empty and consumed, because its client still waits",
      { body: "", touch: consumes() },
      "",
    ],
    ["it has as many bytes as the limit", { limit: 10 }, "0123456789"],
    ["it has one byte more than the limit", { limit: 9 }, tooLarge],
    ["it has very many bytes, as the limit", { body: long, limit: long.length }, long],
    [
      "it has very many bytes and one more than the limit",
      { body: long, limit: 999_999 },
      tooLarge,
    ],
  ])("is read up to the limit: %s", async (_when, reading, result) => {
    expect(await read({ ...reading, chunked })).toEqual(result);
  });
});

test.each<[string, Touch, string]>([
  ["the stream that middleware has paused", (request) => request.pause(), "0123456789"],
  ["the bytes in req.body", consumes({ body: bytes("kept") }), "kept"],
  ["the bytes in req.rawBody", consumes({ rawBody: bytes("kept") }), "kept"],
  ["the bytes in req.rawBody, not a value", consumes({ body: {}, rawBody: bytes("kept") }), "kept"],
  [
    "the bytes in req.rawBody, not text",
    consumes({ body: "text", rawBody: bytes("kept") }),
    "kept",
  ],
  ["the bytes in req.body first", sets({ body: bytes("body"), rawBody: bytes("raw") }), "body"],
])("reads %s", async (_what, touch, result) => {
  expect(await read({ touch })).toBe(result);
});

test.each([[{}], [{ parsed: true }], ["text"], [null], [0], [[]]])(
  "reads the stream if nothing has read it and req.body holds %j",
  async (body) => {
    expect(await read({ touch: sets({ body }) })).toBe("0123456789");
  },
);

describe("a body in pieces", () => {
  /** Reads a body of `pieces` chunks of `size` bytes each. */
  async function readPieces(pieces: number, size: number): Promise<unknown> {
    const result = gate<unknown>();
    const port = await listen(async (request) => {
      result.open(await resultOf(readRawBody(request, 1_000_000)));
    });
    const chunk = `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;
    const head = requestHead({ "transfer-encoding": "chunked" });
    dial(port).write(`${head}${chunk.repeat(pieces)}0\r\n\r\n`);
    return result.opened;
  }

  test("is read up to 1,024 pieces plus one for every 64 bytes", async () => {
    expect(await readPieces(1_040, 1)).toBe("x".repeat(1_040));
    expect(await readPieces(1_041, 1)).toEqual(tooLarge);
  });

  test("is read in any number of pieces of 64 bytes", async () => {
    expect(await readPieces(10_000, 64)).toBe("x".repeat(640_000));
  });

  test("is rejected without a throw if there is not enough memory to join it", async () => {
    const request = bridged();
    const result = resultOf(readRawBody(request, 100));
    request.push("01234");
    await settled();
    const concat = vi.spyOn(Buffer, "concat").mockImplementation(() => {
      throw new RangeError("Array buffer allocation failed");
    });
    onTestFinished(() => concat.mockRestore());
    request.push(null);
    expect(await result).toEqual({ code: undefined, hint: undefined });
  });
});

test.each<[string, string, number, (request: Readable, deadline: AbortController) => unknown]>([
  ["too large", "body_too_large", 50, (request) => request.push(Buffer.alloc(60))],
  ["in too many pieces", "body_too_large", 1_000_000, () => {}],
  [
    "text from some point on",
    "body_unavailable",
    1_000_000,
    (request) => request.setEncoding("utf8"),
  ],
  ["aborted", "aborted", 1_000_000, (request) => request.destroy()],
  ["late", "aborted", 1_000_000, (_request, deadline) => deadline.abort()],
])("keeps no reference to a body that is rejected as %s", async (_why, code, limit, refuse) => {
  const request = bridged();
  const deadline = new AbortController();
  const reading = readRawBody(request, limit, deadline);
  const result = resultOf(reading);
  const pieces: WeakRef<Buffer>[] = [];
  const push = (count: number) => {
    for (let piece = 0; piece < count && !request.destroyed; piece += 1) {
      const chunk = Buffer.from(new Uint8Array(1));
      pieces.push(new WeakRef(chunk));
      request.push(chunk);
    }
  };
  push(40);
  await settled();
  refuse(request, deadline);
  push(1_100);
  expect(await result).toHaveProperty("code", code);
  push(1_100);
  expect(await remaining(pieces)).toBe(0);
  // The request and the promise stay referenced, as they would by a keep-alive connection and a report.
  expect([request.readableLength, reading]).toEqual([0, expect.any(Promise)]);
});

test.each<[string, Touch]>([
  ["to be read", () => {}],
  ["that middleware kept", consumes({ rawBody: bytes("0123456789") })],
])("returns no body %s if the signal is aborted already", async (_which, touch) => {
  expect(await read({ touch, call: { signal: AbortSignal.abort() } })).toEqual(aborted);
});

describe("rejects with body_unavailable and the cause", () => {
  const wasRead = "the request stream has been read before";
  const discarded = (kind: string) =>
    `a body parser has left ${kind} in req.body and discarded the bytes`;
  const isText = "request.setEncoding() was called";

  test.each<[string, Touch, string]>([
    ["the stream has been read", consumes(), wasRead],
    ["req.body is a parsed value", consumes({ body: {} }), discarded("a parsed value")],
    ["req.body is text", consumes({ body: "text" }), discarded("text")],
    [
      "req.rawBody is a parsed value",
      consumes({ body: {}, rawBody: {} }),
      "req.rawBody holds a parsed value, not bytes",
    ],
    [
      "req.rawBody is text",
      consumes({ body: {}, rawBody: "text" }),
      "req.rawBody holds text, not bytes",
    ],
    ["the stream contains text", (request) => request.setEncoding("utf8"), isText],
  ])("if %s", async (_when, touch, hint) => {
    expect(await read({ touch })).toEqual({ code: "body_unavailable", hint });
  });

  test.each([
    ["before its first piece is read", []],
    ["after its first piece is read", ["01234"]],
  ])("if the stream is switched to text %s", async (_when, pieces) => {
    const request = bridged();
    const result = resultOf(readRawBody(request, 100));
    for (const piece of pieces) request.push(piece);
    await settled();
    request.setEncoding("utf8");
    request.push("56789");
    request.push(null);
    expect(await result).toEqual({ code: "body_unavailable", hint: isText });
    await settled();
  });

  test.each([[{ length: 5 }], [[1, 2]], [new DataView(new ArrayBuffer(5))], [7]])(
    "if the stream contains %j",
    async (piece) => {
      const request = bridged({ objectMode: true });
      const result = resultOf(readRawBody(request, 100));
      request.push(piece);
      request.push(null);
      const hint = "the request stream does not contain bytes";
      expect(await result).toEqual({ code: "body_unavailable", hint });
    },
  );
});

describe("rejects with aborted", () => {
  test("if the request was destroyed before it was read", async () => {
    expect(await read({ touch: (request) => request.destroy() })).toEqual(aborted);
  });

  test.each<[string, (request: IncomingMessage, hangUp: () => void) => unknown]>([
    ["the request is destroyed without an error", (request) => request.destroy()],
    ["the request is destroyed with an error", (request) => request.destroy(new Error("own"))],
    ["the client disconnects", (_request, hangUp) => hangUp()],
  ])("if %s while it is read", async (_what, end) => {
    const result = gate<unknown>();
    const port = await listen((request) => {
      void resultOf(readRawBody(request, 100)).then(result.open);
      request.once("data", () => end(request, client.destroy));
      // Middleware that destroys a request must listen for its error, or the process exits.
      request.on("error", () => {});
    });
    const client = dial(port);
    client.write(`${requestHead({ "content-length": "10" })}01234`);
    expect(await result.opened).toEqual(aborted);
  });

  // `node:http` also emits an error.
  test("if a request without a socket is destroyed without an error while it is read", async () => {
    const request = bridged();
    const result = resultOf(readRawBody(request, 100));
    request.once("data", () => request.destroy());
    request.push("01234");
    expect(await result).toEqual(aborted);
  });
});
