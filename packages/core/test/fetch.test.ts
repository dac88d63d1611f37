import { eventBody, secret } from "@svc-webhooks/kit/deliveries";
import { collectGarbage, remaining } from "@svc-webhooks/kit/garbage";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { answer, sign, type OutcomeCode, type Receiver } from "../src/index.js";
import { gated, never, observed, send } from "./support.js";

const url = "https://example.org/webhooks";
const bytes = (text: string) => new TextEncoder().encode(text);

/** A POST with this body and the headers of a delivery that is `text`. */
async function post(
  body: string | ReadableStream<unknown> = eventBody(),
  text = typeof body === "string" ? body : eventBody(),
  headers: Readonly<Record<string, string>> = {},
  more: RequestInit = {},
): Promise<Request> {
  const signature = await sign(text, secret);
  // Node requires `duplex` with a stream; the DOM types do not have it yet.
  const init = { method: "POST", duplex: "half", body: body as BodyInit };
  const own = { "x-svc-signature": signature, "x-svc-delivery-id": "dlv_1" };
  return new Request(url, { ...init, headers: { ...own, ...headers }, ...more });
}

/** The status and the code of the response. */
async function fetched(receiver: Receiver, request: Request | Promise<Request>) {
  const response = await receiver.fetch(await request);
  const body = (await response.json()) as {
    readonly status?: OutcomeCode;
    readonly error?: { readonly code: OutcomeCode };
  };
  return { status: response.status, code: body.status ?? body.error?.code };
}

/** A stream of these chunks that records how many were pulled and whether it was canceled. */
function streaming(chunks: readonly unknown[]) {
  const seen = { pulled: 0, canceled: false };
  const stream = new ReadableStream<unknown>(
    {
      pull(controller) {
        if (seen.pulled < chunks.length) controller.enqueue(chunks[seen.pulled]);
        else controller.close();
        seen.pulled += 1;
      },
      cancel() {
        seen.canceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, seen };
}

/** The memory outside the heap after garbage collection, in bytes. */
async function bytesInBuffers(): Promise<number> {
  // V8 keeps the targets of WeakRefs and promise jobs until the next turn of the event loop.
  await settled();
  collectGarbage();
  await settled();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

const limit = 64;
/** A JSON event of exactly `length` bytes. */
const bodyOf = (length: number) => eventBody().padEnd(length, " ");
/** A receiver with a `maxBodyBytes` of 64. */
const limited = () => observed({ maxBodyBytes: limit });

test("fetch is bound, so that a receiver can be a default export or destructured", async () => {
  const { fetch } = observed().receiver;
  expect((await fetch(await post())).status).toBe(200);
});

describe("the response", () => {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };

  test("has these headers and this body, and no others", async () => {
    const response = await observed().receiver.fetch(await post());
    expect(Object.fromEntries(response.headers)).toEqual(headers);
    expect(await response.text()).toBe('{"status":"processed"}');
  });

  test("to a refused delivery has a fixed message", async () => {
    const unsigned = new Request(url, { method: "POST", body: eventBody() });
    const response = await observed().receiver.fetch(unsigned);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      error: { code: "signature_missing", message: "signature missing" },
    });
  });

  test("with a 503 has a Retry-After", async () => {
    const { receiver } = gated();
    void receiver.fetch(await post());
    await settled();
    const copy = await receiver.fetch(await post());
    expect(copy.status).toBe(503);
    expect(Object.fromEntries(copy.headers)).toEqual({ ...headers, "retry-after": "5" });
  });

  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])(
    "to %s names the allowed method",
    async (method) => {
      const response = await observed().receiver.fetch(new Request(url, { method }));
      expect(response.status).toBe(405);
      expect(Object.fromEntries(response.headers)).toEqual({ ...headers, allow: "POST" });
      expect((await response.text()) === "").toBe(method === "HEAD");
    },
  );

  test("is the result of answer() for the outcome", async () => {
    const { receiver } = observed();
    const { status, body } = answer(await send(receiver, "[]"));
    const response = await receiver.fetch(await post("[]"));
    expect({ status: response.status, body: await response.text() }).toEqual({ status, body });
  });
});

describe("a body in chunks", () => {
  test("is joined byte for byte, even if a character is split between chunks", async () => {
    const text = eventBody("email.sent", { to: "é€😀" });
    const seen: unknown[] = [];
    const { receiver } = observed({ on: { "*": (event) => seen.push(event) } });
    const { stream } = streaming(Array.from(bytes(text), (byte) => Uint8Array.of(byte)));
    expect((await fetched(receiver, post(stream, text))).code).toBe("processed");
    expect(seen).toEqual([{ type: "email.sent", to: "é€😀" }]);
  });

  test("of exactly maxBodyBytes is accepted", async () => {
    const body = bodyOf(limit);
    const { receiver, reports } = limited();
    const { stream, seen } = streaming([bytes(body.slice(0, 40)), bytes(body.slice(40))]);
    expect((await fetched(receiver, post(stream, body))).code).toBe("processed");
    expect(reports).toMatchObject([{ bodyBytes: limit }]);
    expect(seen.canceled).toBe(false);
  });

  test("is refused as soon as it exceeds maxBodyBytes by one byte, and the rest is never pulled", async () => {
    const { stream, seen } = streaming([bodyOf(limit + 1), "more", "and more"].map(bytes));
    const response = await fetched(limited().receiver, post(stream));
    expect(response).toEqual({ status: 413, code: "body_too_large" });
    expect(seen).toEqual({ pulled: 1, canceled: true });
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ["signature_missing", { "x-svc-signature": "" }],
    ["signature_malformed", { "x-svc-signature": "sha256=0" }],
    ["encoding_unsupported", { "content-encoding": "gzip" }],
    ["body_too_large", { "content-length": "1048577" }],
  ])("is never pulled if the delivery ends as %s", async (code, headers) => {
    const { stream, seen } = streaming([bytes(eventBody())]);
    const request = await post(stream, eventBody(), headers);
    expect((await fetched(observed().receiver, request)).code).toBe(code);
    expect(seen.pulled).toBe(0);
    expect(request.bodyUsed).toBe(false);
  });

  test("may have as many chunks as bytes", async () => {
    const body = bodyOf(3_000);
    const { receiver } = observed({ maxBodyBytes: 3_000 });
    const { stream } = streaming(Array.from(body, bytes));
    expect((await fetched(receiver, post(stream, body))).code).toBe("processed");
  });

  test("retains no chunk that has been copied", async () => {
    const chunks = 2_000;
    const given: WeakRef<Uint8Array>[] = [];
    const held = gate();
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (given.length === chunks) return held.opened.then(() => controller.close());
        const chunk = Uint8Array.of(32);
        given.push(new WeakRef(chunk));
        controller.enqueue(chunk);
        return undefined;
      },
    });
    const response = fetched(observed().receiver, post(stream, " ".repeat(chunks)));
    while (given.length < chunks) await settled();
    // The stream holds one chunk in its queue, and the receiver reads another one.
    expect(await remaining(given, 2)).toBeLessThanOrEqual(2);
    held.open();
    expect((await response).code).toBe("malformed_body");
  });

  test("that does not end within bodyTimeoutMs is canceled, and its buffer is released", async () => {
    const clock = fakeClock();
    const { receiver, lines } = observed({ clock, maxBodyBytes: 2_000_000 });
    const before = await bytesInBuffers();
    const canceled: number[] = [];
    const streamOf = (index: number) => {
      const source = {
        pull(controller: ReadableStreamDefaultController<Uint8Array>) {
          controller.enqueue(new Uint8Array(1_000_000));
          return never();
        },
        cancel: () => void canceled.push(index),
      };
      return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
    };
    const indexes = Array.from({ length: 20 }, (_, index) => index);
    // All requests are held until the end: only the receiver's buffer can be released.
    const requests = await Promise.all(indexes.map((index) => post(streamOf(index))));
    const responses = requests.map((request) => fetched(receiver, request));
    await clock.advance(9_999);
    expect(canceled).toEqual([]);
    expect((await bytesInBuffers()) - before).toBeGreaterThan(19_000_000);
    await clock.advance(1);
    const codes = (await Promise.all(responses)).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(["body_timeout"]));
    expect(canceled.toSorted((a, b) => a - b)).toEqual(indexes);
    expect((await bytesInBuffers()) - before).toBeLessThan(5_000_000);
    expect(requests).toHaveLength(20);
    expect(lines).toEqual([expect.stringContaining("body_timeout")]);
  });

  test.each<[string, () => Promise<void>]>([
    ["never settles", never],
    ["rejects", () => Promise.reject(new Error("cannot be canceled"))],
  ])("is refused without waiting for a cancel() that %s", async (_what, cancel) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const { receiver } = observed({ clock: fakeClock(), maxBodyBytes: limit });
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(limit + 1)),
      cancel,
    });
    const responding = receiver.fetch(await post(stream));
    await settled();
    const response = await Promise.race([responding, Promise.resolve(undefined)]);
    expect(response?.status).toBe(413);
    expect(unhandled).toEqual([]);
  });

  test("of empty chunks that are available immediately is refused, so that timers can fire", async () => {
    const { stream, seen } = streaming(Array.from({ length: 100_000 }, () => new Uint8Array()));
    const response = await fetched(observed().receiver, post(stream, ""));
    expect(response.code).toBe("body_too_large");
    expect(seen.canceled).toBe(true);
    expect(seen.pulled).toBeLessThan(1_100);
  });

  test.each<[string, unknown]>([
    ["text", eventBody()],
    ["a number", 1],
    ["null", null],
    ["an array", [123, 125]],
    ["an object with a length", { length: 2 }],
    ["an ArrayBuffer", bytes(eventBody()).buffer],
    ["16-bit units", new Uint16Array(2)],
  ])("is unavailable if a chunk is %s", async (_what, chunk) => {
    const { receiver, lines, reports } = limited();
    const { stream, seen } = streaming([chunk]);
    expect((await fetched(receiver, post(stream))).code).toBe("body_unavailable");
    expect(seen).toEqual({ pulled: 1, canceled: true });
    expect(lines).toEqual([expect.stringContaining("a chunk of the body is not a Uint8Array")]);
    expect(reports[0]).not.toHaveProperty("bodyBytes");
  });

  test.each([
    ["breaks off", new Error("connection reset")],
    ["breaks off without a reason", undefined],
  ])("that %s is aborted, without a claim or a printed line", async (_, reason) => {
    const { receiver, lines } = observed();
    const stream = new ReadableStream({ pull: (controller) => controller.error(reason) });
    expect((await fetched(receiver, post(stream))).code).toBe("aborted");
    expect(lines).toEqual([]);
    expect((await fetched(receiver, post())).code).toBe("processed");
  });

  test("whose client disconnects is aborted, without a printed line", async () => {
    const { receiver, lines, reports } = observed();
    const client = new AbortController();
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        client.abort();
        controller.error(new TypeError("terminated"));
      },
    });
    await receiver.fetch(await post(stream, eventBody(), {}, { signal: client.signal }));
    expect(reports).toMatchObject([{ code: "aborted" }]);
    expect(lines).toEqual([]);
  });
});

describe("a body with a Content-Length", () => {
  const announcing = (body: string, length: number | string) =>
    post(body, body, { "content-length": String(length) });
  /** A stream that is far too long. */
  const endless = () => streaming(Array.from({ length: 1_000 }, () => bytes(bodyOf(limit))));

  test.each([
    ["of exactly maxBodyBytes is accepted", limit, limit, "processed"],
    ["of one byte more is refused", limit + 1, limit + 1, "body_too_large"],
    ["that is too small is refused beyond maxBodyBytes", 1, limit + 1, "body_too_large"],
  ])("%s", async (_, length, sent, code) => {
    const response = await fetched(limited().receiver, announcing(bodyOf(sent), length));
    expect(response.code).toBe(code);
  });

  test("that was cut is unavailable, with both lengths in the line", async () => {
    const { receiver, lines } = observed();
    const body = eventBody();
    const response = await fetched(receiver, announcing(body, body.length + 1));
    expect(response).toEqual({ status: 500, code: "body_unavailable" });
    expect(lines[0]).toContain(`${body.length} of ${body.length + 1} bytes`);
  });

  test.each(["0", "a few", "-1", "5, 5", "0x5", "1e1", "+5", "5.0", "05"])(
    "of %j is still counted",
    async (length) => {
      const { stream, seen } = endless();
      const request = post(stream, eventBody(), { "content-length": length });
      expect((await fetched(limited().receiver, request)).code).toBe("body_too_large");
      expect(seen.pulled).toBeLessThan(1_000);
    },
  );

  test.each(["chunked", "identity", ""])(
    "is counted if Transfer-Encoding: %s is also present",
    async (coding) => {
      const { stream, seen } = endless();
      const headers = { "content-length": String(limit), "transfer-encoding": coding };
      const response = await fetched(limited().receiver, post(stream, eventBody(), headers));
      expect(response.code).toBe("body_too_large");
      expect(seen).toEqual({ pulled: 2, canceled: true });
    },
  );

  test("of 0 is verified like any other, and is malformed", async () => {
    const { headers } = await announcing("", 0);
    const request = new Request(url, { method: "POST", headers });
    const response = await fetched(observed().receiver, request);
    expect(response).toEqual({ status: 400, code: "malformed_body" });
  });
});

test.each([
  ["accepts", limit, "processed"],
  ["refuses", limit + 1, "body_too_large"],
])("maxBodyBytes of 64 %s %i bytes that an adapter has read", async (_, length, code) => {
  expect((await send(limited().receiver, bodyOf(length))).code).toBe(code);
});

describe("a body that other code", () => {
  test("has read is unavailable, not empty or a mismatch", async () => {
    const { receiver, lines } = observed();
    const request = await post();
    await request.json();
    expect(await fetched(receiver, request)).toEqual({ status: 500, code: "body_unavailable" });
    expect(lines).toEqual([
      expect.stringMatching(
        /has already been read; let nothing read the request before the receiver$/,
      ),
    ]);
  });

  test("is reading is unavailable immediately", async () => {
    const request = await post();
    request.body?.getReader();
    expect((await fetched(observed().receiver, request)).code).toBe("body_unavailable");
  });
});

test("repeated headers arrive joined, and two signatures are malformed", async () => {
  const request = await post();
  request.headers.append("x-svc-signature", await sign(eventBody(), secret));
  expect((await fetched(observed().receiver, request)).code).toBe("signature_malformed");
});

describe("the execution context", () => {
  test("has its waitUntil called as a method, with the run", async () => {
    const { receiver, finish } = gated();
    const context = {
      works: [] as Promise<unknown>[],
      waitUntil(work: Promise<unknown>) {
        this.works.push(work);
      },
    };
    const responding = receiver.fetch(await post(), { SOME: "binding" }, context);
    await settled();
    expect(context.works).toHaveLength(1);
    await finish();
    expect((await responding).status).toBe(200);
    await Promise.all(context.works);
  });

  test.each([
    ["missing", undefined],
    ["without waitUntil", {}],
  ])("may be %s", async (_, context) => {
    const response = await observed().receiver.fetch(await post(), undefined, context);
    expect(response.status).toBe(200);
  });
});
