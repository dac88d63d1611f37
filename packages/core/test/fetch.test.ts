import { eventBody, secret } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock } from "@svc-webhooks/testing";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { answer, sign, type OutcomeCode } from "../src/index.js";
import { observed, send } from "./support.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const url = "https://example.org/webhooks";

const headersFor = async (body: string, more: Readonly<Record<string, string>> = {}) => ({
  "x-svc-signature": await sign(body, secret),
  "x-svc-delivery-id": "dlv_1",
  ...more,
});

/** A stream of these chunks that records how many were pulled and whether it was cancelled. */
function streaming(chunks: readonly (string | Uint8Array)[]) {
  const seen = { pulled: 0, cancelled: false };
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[seen.pulled++];
        if (chunk === undefined) controller.close();
        else controller.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, seen };
}

/** The memory outside the heap after garbage collection, in bytes. */
async function bytesInBuffers(): Promise<number> {
  // A turn of the event loop first: V8 keeps the targets of WeakRefs and promise jobs until then.
  await settled();
  collectGarbage();
  await settled();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

// Node requires `duplex` with a stream; the DOM types do not have it yet.
const posting = { method: "POST", duplex: "half" };

const post = (
  body: string | ReadableStream<unknown>,
  headers: Readonly<Record<string, string>>,
  more: RequestInit = {},
) => new Request(url, { ...posting, body: body as BodyInit, headers, ...more });

const codeOf = async (response: Response) => {
  const { status, error } = (await response.json()) as {
    readonly status?: OutcomeCode;
    readonly error?: { readonly code: OutcomeCode };
  };
  return status ?? error?.code;
};

/** A JSON event of exactly `bytes` bytes. */
const bodyOf = (bytes: number) => eventBody().padEnd(bytes, " ");

test("fetch is bound, so that a receiver can be a default export or destructured", async () => {
  const { fetch } = observed().receiver;
  const response = await fetch(post(eventBody(), await headersFor(eventBody())));
  expect(response.status).toBe(200);
  expect(await codeOf(response)).toBe("processed");
});

describe("the response", () => {
  test("has these headers and this body, and no others", async () => {
    const { receiver } = observed();
    const response = await receiver.fetch(post(eventBody(), await headersFor(eventBody())));
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    expect(await response.text()).toBe('{"status":"processed"}');
  });

  test("to a refused delivery has a fixed message", async () => {
    const { receiver } = observed();
    const response = await receiver.fetch(post(eventBody(), { "x-svc-delivery-id": "dlv_1" }));
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      error: { code: "signature_missing", message: "signature missing" },
    });
  });

  test("with a 503 has a Retry-After", async () => {
    const { opened, open } = gate();
    const { receiver } = observed({ on: { "*": () => opened } });
    const headers = await headersFor(eventBody());
    const first = receiver.fetch(post(eventBody(), headers));
    await settled();
    const copy = await receiver.fetch(post(eventBody(), headers));
    expect(copy.status).toBe(503);
    expect(Object.fromEntries(copy.headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "retry-after": "5",
    });
    open();
    expect((await first).status).toBe(200);
  });

  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])(
    "to %s names the allowed method",
    async (method) => {
      const response = await observed().receiver.fetch(new Request(url, { method }));
      expect(response.status).toBe(405);
      expect(Object.fromEntries(response.headers)).toEqual({
        allow: "POST",
        "content-type": "application/json",
        "cache-control": "no-store",
      });
      expect((await response.text()) === "").toBe(method === "HEAD");
    },
  );

  test("is the result of answer() for the outcome", async () => {
    const { receiver } = observed();
    const headers = await headersFor("[]");
    const outcome = await receiver.receive({
      method: "POST",
      headers,
      body: new TextEncoder().encode("[]"),
    });
    const response = await receiver.fetch(post("[]", headers));
    expect({
      status: response.status,
      body: await response.text(),
    }).toEqual({ status: answer(outcome).status, body: answer(outcome).body });
  });
});

describe("a body in chunks", () => {
  const limit = 64;

  test("is joined byte for byte, even if a character is split between chunks", async () => {
    const bytes = new TextEncoder().encode(eventBody("email.sent", { to: "é€😀" }));
    const seen: unknown[] = [];
    const { receiver } = observed({ on: { "*": (event) => seen.push(event) } });
    const { stream } = streaming(Array.from(bytes, (byte) => Uint8Array.of(byte)));
    const request = post(stream, await headersFor(new TextDecoder().decode(bytes)));
    expect(await codeOf(await receiver.fetch(request))).toBe("processed");
    expect(seen).toEqual([{ type: "email.sent", to: "é€😀" }]);
  });

  test("of exactly maxBodyBytes is accepted", async () => {
    const body = bodyOf(limit);
    const { receiver, reports } = observed({ maxBodyBytes: limit });
    const { stream, seen } = streaming([body.slice(0, 40), body.slice(40)]);
    const response = await receiver.fetch(post(stream, await headersFor(body)));
    expect(await codeOf(response)).toBe("processed");
    expect(reports).toMatchObject([{ bodyBytes: limit }]);
    expect(seen.cancelled).toBe(false);
  });

  test("is refused as soon as it exceeds maxBodyBytes by one byte, and the rest is never pulled", async () => {
    const body = bodyOf(limit + 1);
    const { receiver } = observed({ maxBodyBytes: limit });
    const { stream, seen } = streaming([body, "more", "and more"]);
    const response = await receiver.fetch(post(stream, await headersFor(body)));
    expect(response.status).toBe(413);
    expect(await codeOf(response)).toBe("body_too_large");
    expect(seen).toEqual({ pulled: 1, cancelled: true });
  });

  test("is never pulled if the request is not signed", async () => {
    const { receiver } = observed();
    const { stream, seen } = streaming([eventBody()]);
    const request = post(stream, { "x-svc-delivery-id": "dlv_1" });
    expect(await codeOf(await receiver.fetch(request))).toBe("signature_missing");
    expect(seen.pulled).toBe(0);
    expect(request.bodyUsed).toBe(false);
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ["signature_malformed", { "x-svc-signature": "sha256=0" }],
    ["encoding_unsupported", { "content-encoding": "gzip" }],
    ["body_too_large", { "content-length": "1048577" }],
  ])("is never pulled if the delivery ends as %s", async (code, headers) => {
    const { receiver } = observed();
    const { stream, seen } = streaming([eventBody()]);
    const request = post(stream, await headersFor(eventBody(), headers));
    expect(await codeOf(await receiver.fetch(request))).toBe(code);
    expect(seen.pulled).toBe(0);
  });

  test("may have as many chunks as bytes", async () => {
    const body = bodyOf(3_000);
    const { receiver } = observed({ maxBodyBytes: 3_000 });
    const { stream } = streaming(Array.from({ length: 3_000 }, (_, index) => body.charAt(index)));
    const response = await receiver.fetch(post(stream, await headersFor(body)));
    expect(await codeOf(response)).toBe("processed");
  });

  test("retains no chunk that has been copied", async () => {
    const chunks = 2_000;
    const { receiver } = observed();
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
    const response = receiver.fetch(post(stream, await headersFor(" ".repeat(chunks))));
    while (given.length < chunks) await settled();
    await bytesInBuffers();
    const alive = given.filter((chunk) => chunk.deref());
    expect(alive.length).toBeLessThan(10);
    held.open();
    expect(await codeOf(await response)).toBe("malformed_body");
  });

  test("that does not end within bodyTimeoutMs is cancelled, and its buffer is released", async () => {
    const clock = fakeClock();
    const { receiver, lines } = observed({ clock, maxBodyBytes: 2_000_000 });
    const before = await bytesInBuffers();
    const streams = Array.from({ length: 20 }, () => {
      const cancelled: unknown[] = [];
      const stream = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            controller.enqueue(new Uint8Array(1_000_000));
            return new Promise(() => {});
          },
          cancel: (reason) => void cancelled.push(reason),
        },
        { highWaterMark: 0 },
      );
      return { stream, cancelled };
    });
    const headers = await headersFor("never whole");
    const requests = streams.map(({ stream }) => post(stream, headers));
    const responses = requests.map((request) => receiver.fetch(request));
    await clock.advance(9_999);
    expect(streams.filter(({ cancelled }) => cancelled.length > 0)).toEqual([]);
    expect((await bytesInBuffers()) - before).toBeGreaterThan(19_000_000);
    await clock.advance(1);
    const codes = await Promise.all(responses.map(async (response) => codeOf(await response)));
    expect(new Set(codes)).toEqual(new Set(["body_timeout"]));
    expect(streams.filter(({ cancelled }) => cancelled.length !== 1)).toEqual([]);
    expect((await bytesInBuffers()) - before).toBeLessThan(5_000_000);
    expect(requests).toHaveLength(20);
    expect(lines).toEqual([]);
  });

  test.each<[string, () => Promise<void>]>([
    ["never settles", () => new Promise(() => {})],
    ["rejects", () => Promise.reject(new Error("cannot be cancelled"))],
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
    const responding = receiver.fetch(post(stream, await headersFor(eventBody())));
    await settled();
    const response = await Promise.race([responding, Promise.resolve(undefined)]);
    expect(response?.status).toBe(413);
    expect(unhandled).toEqual([]);
  });

  test("of empty chunks that are available immediately is refused, so that timers can fire", async () => {
    const { receiver } = observed();
    const { stream, seen } = streaming(Array.from({ length: 100_000 }, () => new Uint8Array()));
    const response = await receiver.fetch(post(stream, await headersFor("")));
    expect(await codeOf(response)).toBe("body_too_large");
    expect(seen.cancelled).toBe(true);
    expect(seen.pulled).toBeLessThan(1_100);
  });

  test.each<[string, unknown]>([
    ["text", eventBody()],
    ["a number", 1],
    ["null", null],
    ["an array", [123, 125]],
    ["an object with a length", { length: 2 }],
    ["an ArrayBuffer", new TextEncoder().encode(eventBody()).buffer],
    ["16-bit units", new Uint16Array(2)],
  ])("is unavailable if a chunk is %s", async (_what, chunk) => {
    const { receiver, lines, reports } = observed({ maxBodyBytes: limit });
    const seen = { pulled: 0, cancelled: false };
    const stream = new ReadableStream<unknown>(
      {
        pull(controller) {
          if (seen.pulled++ === 0) controller.enqueue(chunk);
          else controller.close();
        },
        cancel: () => void (seen.cancelled = true),
      },
      { highWaterMark: 0 },
    );
    const response = await receiver.fetch(post(stream, await headersFor(eventBody())));
    expect(await codeOf(response)).toBe("body_unavailable");
    expect(seen).toEqual({ pulled: 1, cancelled: true });
    expect(lines).toEqual([expect.stringContaining("a chunk of the body is not a Uint8Array")]);
    expect(reports[0]).not.toHaveProperty("bodyBytes");
  });

  test.each([
    ["", new Error("connection reset")],
    [" without a reason", undefined],
  ])("that breaks off%s is aborted, without a claim or a printed line", async (_, reason) => {
    const { receiver, lines } = observed();
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(reason);
      },
    });
    const response = await receiver.fetch(post(stream, await headersFor(eventBody())));
    expect(await codeOf(response)).toBe("aborted");
    expect(lines).toEqual([]);
    const again = await receiver.fetch(post(eventBody(), await headersFor(eventBody())));
    expect(await codeOf(again)).toBe("processed");
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
    const headers = await headersFor(eventBody());
    await receiver.fetch(post(stream, headers, { signal: client.signal }));
    expect(reports).toMatchObject([{ code: "aborted" }]);
    expect(lines).toEqual([]);
  });
});

describe("a body with a Content-Length", () => {
  const limit = 64;
  const announced = (bytes: number) => ({ "content-length": String(bytes) });

  test.each([
    ["exactly maxBodyBytes is accepted", limit, "processed"],
    ["one byte more is refused", limit + 1, "body_too_large"],
  ])("of %s", async (_, bytes, code) => {
    const body = bodyOf(bytes);
    const { receiver } = observed({ maxBodyBytes: limit });
    const request = post(body, await headersFor(body, announced(bytes)));
    expect(await codeOf(await receiver.fetch(request))).toBe(code);
  });

  test("that was cut is unavailable, with both lengths in the line", async () => {
    const { receiver, lines } = observed();
    const body = eventBody();
    const request = post(body, await headersFor(body, announced(body.length + 1)));
    const response = await receiver.fetch(request);
    expect(response.status).toBe(500);
    expect(await codeOf(response)).toBe("body_unavailable");
    expect(lines[0]).toContain(`${body.length} of ${body.length + 1} bytes`);
  });

  test("that is longer than announced is still refused beyond maxBodyBytes", async () => {
    const body = bodyOf(limit + 1);
    const { receiver } = observed({ maxBodyBytes: limit });
    const request = post(body, await headersFor(body, announced(1)));
    expect(await codeOf(await receiver.fetch(request))).toBe("body_too_large");
  });

  test.each(["0", "a few", "-1", "5, 5", "0x5", "1e1", "+5", "5.0", "05"])(
    "of %j is still counted",
    async (length) => {
      const { receiver } = observed({ maxBodyBytes: limit });
      const { stream, seen } = streaming(Array.from({ length: 1_000 }, () => bodyOf(limit)));
      const request = post(stream, await headersFor(eventBody(), { "content-length": length }));
      expect(await codeOf(await receiver.fetch(request))).toBe("body_too_large");
      expect(seen.pulled).toBeLessThan(1_000);
    },
  );

  test.each(["chunked", "identity", ""])(
    "is counted if Transfer-Encoding: %s is also present",
    async (coding) => {
      const { receiver } = observed({ maxBodyBytes: limit });
      const { stream, seen } = streaming(Array.from({ length: 1_000 }, () => bodyOf(limit)));
      const headers = await headersFor(eventBody(), {
        ...announced(limit),
        "transfer-encoding": coding,
      });
      const response = await receiver.fetch(post(stream, headers));
      expect(await codeOf(response)).toBe("body_too_large");
      expect(seen).toEqual({ pulled: 2, cancelled: true });
    },
  );

  test("of 0 is verified like any other, and is malformed", async () => {
    const { receiver } = observed();
    const request = new Request(url, {
      method: "POST",
      headers: await headersFor("", announced(0)),
    });
    const response = await receiver.fetch(request);
    expect(response.status).toBe(400);
    expect(await codeOf(response)).toBe("malformed_body");
  });
});

test("maxBodyBytes also applies to bytes that an adapter has read", async () => {
  const codeFor = async (bytes: number) => {
    const { receiver } = observed({ maxBodyBytes: 64 });
    return (await send(receiver, bodyOf(bytes))).code;
  };
  expect(await codeFor(64)).toBe("processed");
  expect(await codeFor(65)).toBe("body_too_large");
});

describe("a body that other code", () => {
  test("has read is unavailable, not empty or a mismatch", async () => {
    const { receiver, lines } = observed();
    const request = post(eventBody(), await headersFor(eventBody()));
    await request.json();
    const response = await receiver.fetch(request);
    expect(response.status).toBe(500);
    expect(await codeOf(response)).toBe("body_unavailable");
    expect(lines).toEqual([
      expect.stringMatching(
        /has already been read; let nothing read the request before the receiver$/,
      ),
    ]);
  });

  test("is reading is unavailable immediately", async () => {
    const { receiver } = observed();
    const request = post(eventBody(), await headersFor(eventBody()));
    request.body?.getReader();
    expect(await codeOf(await receiver.fetch(request))).toBe("body_unavailable");
  });
});

test("repeated headers arrive joined, and two signatures are malformed", async () => {
  const { receiver } = observed();
  const headers = new Headers(await headersFor(eventBody()));
  headers.append("x-svc-signature", await sign(eventBody(), secret));
  const request = new Request(url, { method: "POST", body: eventBody(), headers });
  expect(await codeOf(await receiver.fetch(request))).toBe("signature_malformed");
});

describe("the execution context", () => {
  test("has its waitUntil called as a method, with the run", async () => {
    const { opened, open } = gate();
    const { receiver } = observed({ on: { "*": () => opened } });
    const context = {
      works: [] as Promise<unknown>[],
      waitUntil(work: Promise<unknown>) {
        this.works.push(work);
      },
    };
    const request = post(eventBody(), await headersFor(eventBody()));
    const responding = receiver.fetch(request, { SOME: "binding" }, context);
    await settled();
    expect(context.works).toHaveLength(1);
    open();
    expect((await responding).status).toBe(200);
    await Promise.all(context.works);
  });

  test.each([
    ["missing", undefined],
    ["without waitUntil", {}],
  ])("may be %s", async (_, context) => {
    const { receiver } = observed();
    const request = post(eventBody(), await headersFor(eventBody()));
    expect((await receiver.fetch(request, undefined, context)).status).toBe(200);
  });
});
