import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { readRawBody } from "@svc-webhooks/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { gate } from "@svc-webhooks/kit/gate";
import { listen, type TouchedRequest } from "@svc-webhooks/kit/servers";
import { settled } from "@svc-webhooks/kit/settled";
import { collectGarbage } from "./collect-garbage.js";

interface Reading {
  /** The middleware that runs before the request is read. */
  readonly touch?: (request: TouchedRequest) => unknown;
  readonly body?: string;
  readonly chunked?: boolean;
  readonly limit?: number;
}

type Result = { readonly text: string } | { readonly code: unknown; readonly hint: unknown };

const resultOf = (reading: Promise<Uint8Array>): Promise<Result> =>
  reading.then(
    (bytes) => ({ text: Buffer.from(bytes).toString() }),
    ({ code, hint }: { code?: unknown; hint?: unknown }) => ({ code, hint }),
  );

/** Sends a request to a real server and returns the result of reading it. */
async function read({ touch, body = "0123456789", chunked, limit = 100 }: Reading = {}) {
  const result = gate<Result>();
  const port = await listen(async (request, response) => {
    await touch?.(request);
    result.open(await resultOf(readRawBody(request, limit)));
    response.end();
  });
  const sent = send(port, { headers: {}, body: Buffer.from(body) }, { chunked: chunked ?? false });
  // A destroyed request gets no response.
  sent.catch(() => {});
  return result.opened;
}

/** A request without a socket, as test injectors and serverless bridges create it. */
const bridged = (options: { readonly objectMode?: boolean } = {}) =>
  new Readable({ ...options, read: () => {} }) as unknown as Readable & IncomingMessage;

async function consume(request: TouchedRequest): Promise<void> {
  for await (const chunk of request) void chunk;
}

describe("reads", () => {
  test("the stream if nothing has read it", async () => {
    expect(await read()).toEqual({ text: "0123456789" });
    expect(await read({ chunked: true })).toEqual({ text: "0123456789" });
  });

  test("all bytes of a body that arrives in many pieces", async () => {
    const body = "0123456789".repeat(100_000);
    expect(await read({ body, limit: body.length })).toEqual({ text: body });
  });

  test("a stream that middleware has paused", async () => {
    const touch = (request: TouchedRequest) => request.pause();
    expect(await read({ touch })).toEqual({ text: "0123456789" });
  });

  test("an empty body", async () => {
    expect(await read({ body: "" })).toEqual({ text: "" });
    expect(await read({ body: "", chunked: true })).toEqual({ text: "" });
  });

  test("an empty body that has been consumed, because its client still waits", async () => {
    expect(await read({ touch: consume, body: "" })).toEqual({ text: "" });
    expect(await read({ touch: consume, body: "", chunked: true })).toEqual({ text: "" });
  });

  test("the bytes that were kept in req.body", async () => {
    const touch = async (request: TouchedRequest) => {
      await consume(request);
      request.body = new TextEncoder().encode("kept");
    };
    expect(await read({ touch })).toEqual({ text: "kept" });
  });

  test("the bytes that were kept in req.rawBody, whatever req.body holds", async () => {
    for (const body of [{ parsed: true }, "text", undefined]) {
      const touch = async (request: TouchedRequest) => {
        await consume(request);
        Object.assign(request, { body, rawBody: Buffer.from("kept") });
      };
      expect(await read({ touch })).toEqual({ text: "kept" });
    }
  });

  test("the bytes in req.body if req.rawBody holds bytes too", async () => {
    const touch = (request: TouchedRequest) =>
      Object.assign(request, { body: Buffer.from("body"), rawBody: Buffer.from("rawBody") });
    expect(await read({ touch })).toEqual({ text: "body" });
  });

  test.each([[{}], [{ parsed: true }], ["text"], [null], [0], [[]]])(
    "the stream if nothing has read it and req.body holds %j",
    async (body) => {
      const touch = (request: TouchedRequest) => Object.assign(request, { body });
      expect(await read({ touch })).toEqual({ text: "0123456789" });
    },
  );
});

describe.each([
  ["an announced", false],
  ["a chunked", true],
])("the limit of %s body", (_kind, chunked) => {
  test("is inclusive", async () => {
    expect(await read({ chunked, limit: 10 })).toEqual({ text: "0123456789" });
    expect(await read({ chunked, limit: 9 })).toEqual({ code: "body_too_large", hint: undefined });
  });

  test("rejects a body that exceeds it by far", async () => {
    const body = "x".repeat(1_000_000);
    expect(await read({ chunked, body, limit: 999_999 })).toMatchObject({ code: "body_too_large" });
    expect(await read({ chunked, body, limit: 1_000_000 })).toEqual({ text: body });
  });
});

describe("a body in pieces", () => {
  /** Reads a body of `pieces` chunks of `size` bytes each. */
  async function readPieces(pieces: number, size: number): Promise<Result> {
    const result = gate<Result>();
    const port = await listen(async (request) => {
      result.open(await resultOf(readRawBody(request, 1_000_000)));
    });
    const chunk = `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;
    const head = requestHead({ "transfer-encoding": "chunked" });
    dial(port).write(`${head}${chunk.repeat(pieces)}0\r\n\r\n`);
    return result.opened;
  }

  test("is read up to 1,024 pieces plus one for every 64 bytes", async () => {
    expect(await readPieces(1_040, 1)).toEqual({ text: "x".repeat(1_040) });
    expect(await readPieces(1_041, 1)).toEqual({ code: "body_too_large", hint: undefined });
  });

  test("is read in any number of pieces of 64 bytes", async () => {
    expect(await readPieces(10_000, 64)).toEqual({ text: "x".repeat(640_000) });
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

describe("keeps no reference to a rejected body", () => {
  const exceed = (request: Readable) => void request.push(Buffer.alloc(60));
  const setText = (request: Readable) => void request.setEncoding("utf8");
  const destroy = (request: Readable) => void request.destroy();
  const giveUp = (_request: Readable, deadline: AbortController) => deadline.abort();

  test.each([
    ["too large", "body_too_large", 50, exceed],
    ["in too many pieces", "body_too_large", 1_000_000, () => {}],
    ["text from some point on", "body_unavailable", 1_000_000, setText],
    ["aborted", "aborted", 1_000_000, destroy],
    ["late", "aborted", 1_000_000, giveUp],
  ])("when it is %s", async (_why, code, limit, refuse) => {
    const request = bridged();
    const deadline = new AbortController();
    const reading = readRawBody(request, limit, deadline);
    const result = resultOf(reading);
    const pieces: WeakRef<Buffer>[] = [];
    const push = (count: number) => {
      for (let piece = 0; piece < count; piece += 1) {
        const chunk = Buffer.from(new Uint8Array(1));
        pieces.push(new WeakRef(chunk));
        request.push(chunk);
      }
    };
    push(40);
    await settled();
    refuse(request, deadline);
    if (!request.destroyed) push(1_100);
    expect(await result).toHaveProperty("code", code);
    if (!request.destroyed) push(1_100);
    await settled();
    collectGarbage();
    expect(pieces.filter((piece) => piece.deref() !== undefined)).toEqual([]);
    // The request and the promise stay referenced, as by a keep-alive connection and a report.
    expect([request.readableLength, reading]).toEqual([0, expect.any(Promise)]);
  });
});

describe("rejects with body_unavailable and the cause", () => {
  const touched = (leave: (request: TouchedRequest) => void) => async (request: TouchedRequest) => {
    await consume(request);
    leave(request);
  };

  test.each([
    ["when the stream has been read", touched(() => {}), "the request stream has been read before"],
    [
      "when req.body is a parsed value",
      touched((request) => Object.assign(request, { body: {} })),
      "a body parser has left a parsed value in req.body and discarded the bytes",
    ],
    [
      "when req.body is text",
      touched((request) => Object.assign(request, { body: "text" })),
      "a body parser has left text in req.body and discarded the bytes",
    ],
    [
      "when req.rawBody is a parsed value",
      touched((request) => Object.assign(request, { body: {}, rawBody: {} })),
      "req.rawBody holds a parsed value, not bytes",
    ],
    [
      "when req.rawBody is text",
      touched((request) => Object.assign(request, { body: {}, rawBody: "text" })),
      "req.rawBody holds text, not bytes",
    ],
    [
      "when the stream contains text",
      (request: TouchedRequest) => void request.setEncoding("utf8"),
      "request.setEncoding() was called",
    ],
  ])("%s", async (_when, touch, found) => {
    expect(await read({ touch })).toEqual({ code: "body_unavailable", hint: found });
  });

  test.each([
    ["before its first piece is read", 0],
    ["after its first piece is read", 1],
  ])("when the stream is switched to text %s", async (_when, pieces) => {
    const request = bridged();
    const result = resultOf(readRawBody(request, 100));
    if (pieces > 0) request.push("01234");
    await settled();
    request.setEncoding("utf8");
    request.push("56789");
    request.push(null);
    expect(await result).toEqual({
      code: "body_unavailable",
      hint: "request.setEncoding() was called",
    });
    await settled();
  });

  test.each([[{ length: 5 }], [[1, 2]], [new DataView(new ArrayBuffer(5))], [7]])(
    "when the stream contains %j",
    async (piece) => {
      const request = bridged({ objectMode: true });
      const result = resultOf(readRawBody(request, 100));
      request.push(piece);
      request.push(null);
      expect(await result).toEqual({
        code: "body_unavailable",
        hint: "the request stream does not contain bytes",
      });
    },
  );
});

describe("rejects with aborted", () => {
  test("when the request was destroyed before it was read", async () => {
    const touch = (request: TouchedRequest) => request.destroy();
    expect(await read({ touch })).toEqual({ code: "aborted", hint: undefined });
  });

  test.each([
    ["without an error", undefined],
    ["with an error", new Error("destroyed")],
  ])("when the request is destroyed %s while it is read", async (_how, error) => {
    const result = gate<Result>();
    const port = await listen((request) => {
      void resultOf(readRawBody(request, 100)).then((got) => result.open(got));
      request.once("data", () => request.destroy(error));
      // Middleware that destroys a request must listen for its error, or the process exits.
      request.on("error", () => {});
    });
    dial(port).write(`${requestHead({ "content-length": "10" })}01234`);
    expect(await result.opened).toEqual({ code: "aborted", hint: undefined });
  });

  // As test injectors and serverless bridges create it; `node:http` also emits an error.
  test("when a request without a socket is destroyed without an error while it is read", async () => {
    const request = bridged();
    const result = resultOf(readRawBody(request, 100));
    request.once("data", () => request.destroy());
    request.push("01234");
    expect(await result).toEqual({ code: "aborted", hint: undefined });
  });

  test("when the client disconnects while the request is read", async () => {
    const [reading, result] = [gate(), gate<Result>()];
    const port = await listen((request) => {
      void resultOf(readRawBody(request, 100)).then((got) => result.open(got));
      request.once("data", () => reading.open());
    });
    const client = dial(port);
    client.write(`${requestHead({ "content-length": "10" })}01234`);
    await reading.opened;
    client.destroy();
    expect(await result.opened).toEqual({ code: "aborted", hint: undefined });
  });
});
