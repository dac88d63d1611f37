import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { text as streamToText } from "node:stream/consumers";
import { webhooks } from "@svc-webhooks/node";
import { fakeClock } from "@svc-webhooks/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventBody, signed, unsigned, type TestDelivery } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { settled } from "@svc-webhooks/kit/settled";

/** Serves a receiver with `node:http2`, behind the middleware `before`, and opens one session to it. */
async function serve(
  options: Parameters<typeof observedReceiver>[0] = {},
  before?: (request: IncomingMessage, response: ServerResponse) => unknown,
) {
  const observed = observedReceiver(options);
  const handler = webhooks(observed.receiver);
  const reading = gate();
  const listener = async (...[request, response]: Parameters<RequestListener>) => {
    // A listener starts the reading, which `before` may have to prevent.
    await (before ? before(request, response) : request.once("data", () => reading.open()));
    void handler(request, response);
  };
  // Its requests and responses are compatible with those of `node:http`, but have types of their own.
  const server = createServer(listener as unknown as Parameters<typeof createServer>[0]);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return {
    ...observed,
    reading,
    post: ({ headers }: TestDelivery) => client.request({ ":method": "POST", ...headers }),
  };
}

async function replyOf(stream: ClientHttp2Stream) {
  const [[headers], text] = await Promise.all([
    once(stream, "response") as Promise<[IncomingHttpHeaders]>,
    // This rejects if the stream is reset before the response ends.
    streamToText(stream),
    once(stream, "close"),
  ]);
  return { status: headers[":status"], text };
}

test("processes a delivery over HTTP/2", async () => {
  const { post } = await serve();
  const delivery = await signed();
  expect(await replyOf(post(delivery).end(delivery.body))).toEqual({
    status: 200,
    text: '{"status":"processed"}',
  });
});

test("resets a stream whose headers middleware has sent with another status", async () => {
  const print = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => print.mockRestore());
  const { post } = await serve({}, (_request, response) => response.flushHeaders());
  const delivery = unsigned();
  await expect(replyOf(post(delivery).end(delivery.body))).rejects.toMatchObject({
    code: "ERR_HTTP2_STREAM_ERROR",
  });
  expect(print).toHaveBeenCalledTimes(1);
});

test.each([
  ["in the middle of an announced body", { "content-length": "100" }, eventBody()],
  ["in the middle of a body of unknown length", {}, eventBody().slice(0, -1)],
  ["between the last byte of a body and its end", {}, eventBody()],
])("reports an HTTP/2 stream that is reset %s as aborted", async (_when, headers, sent) => {
  const { post, reading, reported, codes, lines } = await serve();
  const stream = post(await signed(eventBody(), headers));
  stream.on("error", () => {});
  stream.write(sent);
  await reading.opened;
  // `close` would send the end of the body first.
  stream.destroy();
  await Promise.race([reported("aborted"), reported("processed"), reported("body_unavailable")]);
  expect(codes()).toEqual(["aborted"]);
  expect(lines).toEqual([]);
});

test("responds 408 to an HTTP/2 body that does not arrive in time and resets only its stream", async () => {
  const clock = fakeClock();
  const { post, reading } = await serve({ clock, bodyTimeoutMs: 1_000 });
  const stream = post(await signed());
  stream.write("{");
  const reply = replyOf(stream);
  await reading.opened;
  await settled();
  await clock.advance(1_000);
  expect(await reply).toMatchObject({ status: 408, text: expect.stringContaining("body_timeout") });
  expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  const next = await signed();
  expect(await replyOf(post(next).end(next.body))).toMatchObject({ status: 200 });
});

const readNothing = () => {};
const readOnce = (request: IncomingMessage) => once(request, "data");

test.each([
  ["is not read", "signature_missing", unsigned(), readNothing],
  ["exceeds the limit", "body_too_large", await signed(), readNothing],
  ["middleware has begun to read", "body_unavailable", await signed(), readOnce],
])(
  "sends the whole response to an unfinished HTTP/2 body that %s, and then closes its stream",
  async (_what, code, refused, before) => {
    const { post } = await serve({ maxBodyBytes: 1_000 }, before);
    const stream = post(refused);
    // The gate opens with whether the response ended before the stream.
    const whole = gate<boolean>();
    stream.once("aborted", () => whole.open(stream.readableEnded));
    const reply = replyOf(stream);
    stream.write("x".repeat(1_001));
    expect(await whole.opened).toBe(true);
    expect((await reply).text).toContain(code);
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  },
);

test.each([
  ["is not read", "signature_missing", unsigned("x".repeat(100_000))],
  ["is too large", "body_too_large", await signed("x".repeat(100_000))],
])("keeps an HTTP/2 session usable after a body that %s", async (_what, code, refused) => {
  const { post } = await serve({ maxBodyBytes: 1_000 });
  const stream = post(refused);
  const reply = replyOf(stream);
  stream.end(refused.body);
  expect((await reply).text).toContain(code);
  const next = await signed();
  expect(await replyOf(post(next).end(next.body))).toMatchObject({ status: 200 });
});
