import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { readRawBody, webhooks } from "@svc-webhooks/node";
import getRawBody from "raw-body";
import { beforeEach, expect, test, vi } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { signed } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { listen } from "@svc-webhooks/kit/servers";
import { settled } from "@svc-webhooks/kit/settled";

vi.mock("raw-body", async (importOriginal) => {
  const { default: original } = await importOriginal<{ default: typeof getRawBody }>();
  return { default: vi.fn<typeof original>(original) };
});

const rawBody = vi.mocked(getRawBody);
beforeEach(() => void rawBody.mockClear());

const text = "0123456789";

/** Returns a request that has not received its body yet. */
const requestOf = (length?: number) =>
  Object.assign(new Readable({ read: () => {} }), {
    headers: length === undefined ? {} : { "content-length": String(length) },
  }) as unknown as Readable & IncomingMessage;

/** Reads a request whose body arrives in these chunks. */
async function read(request: Readable & IncomingMessage, ...chunks: readonly Uint8Array[]) {
  const reading = readRawBody(request, 100);
  await settled();
  for (const chunk of [...chunks, null]) {
    request.push(chunk);
    await settled();
  }
  return reading;
}

test("a body that arrives as one chunk with its Content-Length is that chunk", async () => {
  const chunk = Buffer.from(text);
  expect(await read(requestOf(10), chunk)).toBe(chunk);
  expect(rawBody).not.toHaveBeenCalled();
});

type Listen = (request: Readable, keep: (chunk: Buffer) => void) => unknown;

test.each<[string, Listen]>([
  ["a `data` listener", (request, keep) => request.on("data", keep)],
  ["a `data` listener that is called once", (request, keep) => request.once("data", keep)],
  [
    "a `data` listener that is added later",
    (request, keep) => setImmediate(() => request.on("data", keep)),
  ],
])("a body is copied if %s may change its chunk", async (_, listenTo) => {
  const request = requestOf(10);
  const kept: Buffer[] = [];
  listenTo(request, (chunk) => kept.push(chunk));
  const bytes = await read(request, Buffer.from(text));
  expect(kept).toHaveLength(1);
  kept[0]?.fill(0);
  expect(String(bytes)).toBe(text);
});

test.each([
  ["without a Content-Length", undefined, [text]],
  ["in two chunks", 10, ["01234", "56789"]],
  ["with a Content-Length of fewer bytes", 5, ["01234", "56789"]],
  ["with a Content-Length of more bytes", 11, [text]],
])("raw-body reads a body %s", async (_, length, chunks) => {
  const bytes = await read(requestOf(length), ...chunks.map((chunk) => Buffer.from(chunk)));
  expect(String(bytes)).toBe(text);
  expect(rawBody).toHaveBeenCalledTimes(1);
});

test("a body is copied if its chunk would keep a large read buffer in memory", async () => {
  const chunk = Buffer.from(new ArrayBuffer(65_536), 0, 10).fill("x");
  const bytes = await read(requestOf(10), chunk);
  expect([String(bytes), bytes.buffer === chunk.buffer]).toEqual(["xxxxxxxxxx", false]);
});

test.each([
  ["as one chunk", 0, {}],
  ["chunked", 1, { chunked: true }],
])("over HTTP, a body that arrives %s calls raw-body %i times", async (_, calls, framing) => {
  const port = await listen(webhooks(observedReceiver().receiver));
  expect((await send(port, await signed(), framing)).code).toBe("processed");
  expect(rawBody).toHaveBeenCalledTimes(calls);
});

test("over HTTP, raw-body reads a body that arrives in two pieces", async () => {
  const { receiver } = observedReceiver();
  const handler = webhooks(receiver);
  const { headers, body } = await signed();
  const port = await listen((request, response) => {
    client.write(body.subarray(4));
    void handler(request, response);
  });
  const client = dial(port);
  client.write(requestHead({ ...headers, "content-length": String(body.length) }));
  client.write(body.subarray(0, 4));
  expect(await client.response).toContain('{"status":"processed"}');
  expect(rawBody).toHaveBeenCalledTimes(1);
});

test("over HTTP, a listener that changes its chunk does not change the delivery", async () => {
  const chunks: Buffer[] = [];
  const bodies: string[] = [];
  const { receiver } = observedReceiver({
    on: {
      "*": (_event, { delivery }) => {
        for (const chunk of chunks) chunk.fill(0);
        bodies.push(String(delivery.body));
      },
    },
  });
  const handler = webhooks(receiver);
  const port = await listen((request, response) => {
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    void handler(request, response);
  });
  const delivery = await signed();
  expect((await send(port, delivery)).code).toBe("processed");
  expect(chunks).toHaveLength(1);
  expect(bodies).toEqual([String(delivery.body)]);
});
