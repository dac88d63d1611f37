import { describe, expect, test } from "vitest";
import { answer, sign, type OutcomeCode } from "../src/index.js";
import { eventBody, gate, observed, secret, send, settled } from "./support.js";

const url = "https://example.org/webhooks";

const headersFor = async (body: string, more: Readonly<Record<string, string>> = {}) => ({
  "x-svc-signature": await sign(body, secret),
  "x-svc-delivery-id": "dlv_1",
  ...more,
});

/** Chunks as they are asked for, and what became of the stream. */
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

// Node asks for `duplex` with a stream; the DOM types do not know it yet.
const posting = { method: "POST", duplex: "half" };

const post = (
  body: string | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>>,
  more: RequestInit = {},
) => new Request(url, { ...posting, body, headers, ...more });

const codeOf = async (response: Response) => {
  const { status, error } = (await response.json()) as {
    readonly status?: OutcomeCode;
    readonly error?: { readonly code: OutcomeCode };
  };
  return status ?? error?.code;
};

/** A JSON event of exactly `bytes` bytes. */
const bodyOf = (bytes: number) => eventBody().padEnd(bytes, " ");

test("fetch is bound, so that a receiver can be a module's default export or taken apart", async () => {
  const { fetch } = observed().receiver;
  const response = await fetch(post(eventBody(), await headersFor(eventBody())));
  expect(response.status).toBe(200);
  expect(await codeOf(response)).toBe("processed");
});

describe("the answer", () => {
  test("has these headers and this body, and no others", async () => {
    const { receiver } = observed();
    const response = await receiver.fetch(post(eventBody(), await headersFor(eventBody())));
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    expect(await response.text()).toBe('{"status":"processed"}');
  });

  test("to a refused delivery says why in fixed words", async () => {
    const { receiver } = observed();
    const response = await receiver.fetch(post(eventBody(), { "x-svc-delivery-id": "dlv_1" }));
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      error: { code: "signature_missing", message: "signature missing" },
    });
  });

  test("that asks for another attempt says when", async () => {
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
    "to %s names the method that is allowed",
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

  test("is what the pure function answer makes of the outcome", async () => {
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

describe("a body that comes in chunks", () => {
  const limit = 64;

  test("is put together byte for byte, also where a character is cut in two", async () => {
    const bytes = new TextEncoder().encode(eventBody("email.sent", { to: "é€😀" }));
    const seen: unknown[] = [];
    const { receiver } = observed({ on: { "*": (event) => seen.push(event) } });
    const { stream } = streaming(Array.from(bytes, (byte) => Uint8Array.of(byte)));
    const request = post(stream, await headersFor(new TextDecoder().decode(bytes)));
    expect(await codeOf(await receiver.fetch(request))).toBe("processed");
    expect(seen).toEqual([{ type: "email.sent", to: "é€😀" }]);
  });

  test("of exactly maxBodyBytes is taken", async () => {
    const body = bodyOf(limit);
    const { receiver, reports } = observed({ maxBodyBytes: limit });
    const { stream, seen } = streaming([body.slice(0, 40), body.slice(40)]);
    const response = await receiver.fetch(post(stream, await headersFor(body)));
    expect(await codeOf(response)).toBe("processed");
    expect(reports).toMatchObject([{ bodyBytes: limit }]);
    expect(seen.cancelled).toBe(false);
  });

  test("is refused as soon as it passes maxBodyBytes by one, and the rest is never asked for", async () => {
    const body = bodyOf(limit + 1);
    const { receiver } = observed({ maxBodyBytes: limit });
    const { stream, seen } = streaming([body, "more", "and more"]);
    const response = await receiver.fetch(post(stream, await headersFor(body)));
    expect(response.status).toBe(413);
    expect(await codeOf(response)).toBe("body_too_large");
    expect(seen).toEqual({ pulled: 1, cancelled: true });
  });

  test("is never asked for when the request is not signed", async () => {
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
  ])("is never asked for when it ends as %s", async (code, headers) => {
    const { receiver } = observed();
    const { stream, seen } = streaming([eventBody()]);
    const request = post(stream, await headersFor(eventBody(), headers));
    expect(await codeOf(await receiver.fetch(request))).toBe(code);
    expect(seen.pulled).toBe(0);
  });

  test("and breaks off is aborted: nothing is claimed, and no line is printed", async () => {
    const { receiver, lines } = observed();
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error("connection reset"));
      },
    });
    const response = await receiver.fetch(post(stream, await headersFor(eventBody())));
    expect(await codeOf(response)).toBe("aborted");
    expect(lines).toEqual([]);
    const again = await receiver.fetch(post(eventBody(), await headersFor(eventBody())));
    expect(await codeOf(again)).toBe("processed");
  });

  test("whose client goes away is aborted, and no line is printed", async () => {
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

describe("a body of announced length", () => {
  const limit = 64;
  const announced = (bytes: number) => ({ "content-length": String(bytes) });

  test.each([
    ["exactly maxBodyBytes is taken", limit, "processed"],
    ["one byte more is refused", limit + 1, "body_too_large"],
  ])("of %s", async (_, bytes, code) => {
    const body = bodyOf(bytes);
    const { receiver } = observed({ maxBodyBytes: limit });
    const request = post(body, await headersFor(body, announced(bytes)));
    expect(await codeOf(await receiver.fetch(request))).toBe(code);
  });

  test("that was cut on the way is unavailable, with both lengths in the line", async () => {
    const { receiver, lines } = observed();
    const body = eventBody();
    const request = post(body, await headersFor(body, announced(body.length + 1)));
    const response = await receiver.fetch(request);
    expect(response.status).toBe(500);
    expect(await codeOf(response)).toBe("body_unavailable");
    expect(lines[0]).toContain(`${body.length} of ${body.length + 1} bytes`);
  });

  test("that is longer than announced is refused beyond maxBodyBytes all the same", async () => {
    const body = bodyOf(limit + 1);
    const { receiver } = observed({ maxBodyBytes: limit });
    const request = post(body, await headersFor(body, announced(1)));
    expect(await codeOf(await receiver.fetch(request))).toBe("body_too_large");
  });

  test.each(["0", "a few", "-1"])("announced as %j is not read on and on", async (length) => {
    const { receiver } = observed({ maxBodyBytes: limit });
    const { stream, seen } = streaming(Array.from({ length: 1_000 }, () => bodyOf(limit)));
    const request = post(stream, await headersFor(eventBody(), { "content-length": length }));
    expect(await codeOf(await receiver.fetch(request))).toBe("body_too_large");
    expect(seen.pulled).toBeLessThan(1_000);
  });

  test("of nothing at all is signed like any other, and is no JSON", async () => {
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

test("bytes that an adapter has read already are held to maxBodyBytes too", async () => {
  const codeFor = async (bytes: number) => {
    const { receiver } = observed({ maxBodyBytes: 64 });
    return (await send(receiver, bodyOf(bytes))).code;
  };
  expect(await codeFor(64)).toBe("processed");
  expect(await codeFor(65)).toBe("body_too_large");
});

describe("a body that somebody else", () => {
  test("has read is unavailable, not empty and not a mismatch", async () => {
    const { receiver, lines } = observed();
    const request = post(eventBody(), await headersFor(eventBody()));
    await request.json();
    const response = await receiver.fetch(request);
    expect(response.status).toBe(500);
    expect(await codeOf(response)).toBe("body_unavailable");
    expect(lines).toEqual([
      expect.stringMatching(/has already been read; let nothing read the request before$/),
    ]);
  });

  test("is reading is unavailable too, and nothing waits for it", async () => {
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
  test("is asked, as itself, to wait for the run", async () => {
    const { opened, open } = gate();
    const { receiver } = observed({ on: { "*": () => opened } });
    const context = {
      works: [] as Promise<unknown>[],
      waitUntil(work: Promise<unknown>) {
        this.works.push(work);
      },
    };
    const request = post(eventBody(), await headersFor(eventBody()));
    const answered = receiver.fetch(request, { SOME: "binding" }, context);
    await settled();
    expect(context.works).toHaveLength(1);
    open();
    expect((await answered).status).toBe(200);
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
