import { settled } from "@svc-webhooks/kit/settled";
import { schemeDelivery, testScheme } from "@svc-webhooks/kit/test-scheme";
import { describe, expect, test, vi } from "vitest";
import type { Delivery, Greeting, Outcome, Scheme } from "../src/index.js";
import { answer } from "../src/index.js";
import { gated, recorded } from "./support.js";

const secret = "test key";

/** A receiver of the test scheme with these members, and what its handler received. */
const schemed = (change: Partial<Scheme>, options: Parameters<typeof recorded>[0] = {}) =>
  recorded({ secret, scheme: { ...testScheme, ...change }, ...options });

const get = (url?: string, more: Partial<Delivery> = {}): Delivery => ({
  method: "GET",
  url,
  headers: {},
  body: () => Promise.reject(new Error("must not be read")),
  ...more,
});

const withoutScheme = async (delivery: Delivery): Promise<Outcome> => {
  const { receiver } = recorded({ secret });
  return receiver.receive(delivery);
};

describe("the challenge of a scheme", () => {
  const challenge = vi.fn<NonNullable<Scheme["challenge"]>>((url) => {
    if (url?.endsWith("?ok")) return { code: "handshake", reply: { body: "ok" } };
    return url?.endsWith("?hint")
      ? { code: "method_not_allowed", hint: "use another token" }
      : undefined;
  });

  test("responds to a GET request, and nothing runs", async () => {
    const { receiver, contexts, operations, reports } = schemed({ challenge });
    const outcome = await receiver.receive(get("/webhooks?ok"));
    expect(outcome).toMatchObject({ code: "handshake", status: 200 });
    expect(outcome).not.toHaveProperty("secretId");
    expect(answer(outcome)).toMatchObject({ status: 200, body: "ok" });
    expect({ contexts, operations: operations() }).toEqual({ contexts: [], operations: [] });
    expect(reports).toMatchObject([{ code: "handshake" }]);
  });

  test("is awaited if it returns a promise, although its type forbids that", async () => {
    const failing = (): never => Promise.reject(new Error("a mistake")) as never;
    const { receiver } = schemed({ challenge: failing });
    expect((await receiver.receive(get("?ok"))).code).toBe("internal_error");
  });

  test("receives the headers, and no URL if the adapter passes none", async () => {
    const asked: unknown[] = [];
    const { receiver } = schemed({
      challenge(url, header) {
        asked.push([url, header("x-a")]);
        return undefined;
      },
    });
    await receiver.receive(get(undefined, { headers: { "X-A": "1" } }));
    expect(asked).toEqual([[undefined, "1"]]);
  });

  test.each(["HEAD", "PUT", "OPTIONS", "get"])("is not asked about %s", async (method) => {
    const { receiver } = schemed({ challenge });
    challenge.mockClear();
    const delivery = get("?ok", { method });
    expect(answer(await receiver.receive(delivery))).toEqual(answer(await withoutScheme(delivery)));
    expect(challenge).not.toHaveBeenCalled();
  });

  test("leaves a GET request without a response as it is, and logs only its description", async () => {
    const { receiver, lines } = schemed({ challenge });
    const outcomes = [
      await receiver.receive(get("?other")),
      await receiver.receive(get("?hint")),
      await receiver.receive(get("?hint")),
    ];
    for (const outcome of outcomes) {
      expect(answer(outcome)).toEqual(answer(await withoutScheme(get())));
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("method_not_allowed: use another token");
  });

  test("ends the delivery as internal_error if it throws", async () => {
    const { receiver } = schemed({
      challenge() {
        throw new Error("a mistake");
      },
    });
    expect((await receiver.receive(get("?ok"))).code).toBe("internal_error");
  });
});

describe("the greeting of a scheme", () => {
  const greeting: Greeting = {
    maxBytes: 5,
    respond: (bytes, keys) =>
      String.fromCharCode(...bytes) === "hello"
        ? { code: "handshake", reply: { body: "welcome" }, hint: `${keys.length} keys` }
        : undefined,
  };

  const posted = (text: string, headers: Delivery["headers"] = {}): Delivery => ({
    method: "POST",
    headers: { "content-length": String(text.length), ...(headers as object) },
    body: new TextEncoder().encode(text),
  });

  test("responds to an unsigned request, and nothing runs", async () => {
    const { receiver, contexts, operations } = schemed({ greeting });
    const outcome = await receiver.receive(posted("hello"));
    expect(outcome).toMatchObject({ code: "handshake", status: 200, bodyBytes: 5 });
    expect(answer(outcome).body).toBe("welcome");
    expect({ contexts, operations: operations() }).toEqual({ contexts: [], operations: [] });
  });

  test("logs its description once, and the greeting of others never", async () => {
    const { receiver, lines, clock } = schemed({ greeting });
    for (const hours of [0, 1]) {
      await clock.advance(hours * 3_600_000);
      await receiver.receive(posted("hello"));
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("handshake: 1 keys.");
  });

  test("receives no keys from a function that has not been called", async () => {
    const source = vi.fn<() => string>(() => secret);
    const { receiver, lines } = schemed({ greeting }, { secret: source });
    await receiver.receive(posted("hello"));
    expect(lines[0]).toContain("0 keys");
    expect(source).not.toHaveBeenCalled();
  });

  test.each([
    ["another text", posted("other")],
    ["an empty body", posted("")],
    ["a body of one byte more", posted("hello!")],
    ["no Content-Length", { ...posted("hello"), headers: {} }],
    ["a Content-Length that is no number", posted("hello", { "content-length": "5, 5" })],
  ] as const)("does not respond to %s", async (_what, delivery) => {
    const { receiver, operations } = schemed({ greeting });
    const outcome = await receiver.receive(delivery);
    expect(answer(outcome)).toEqual(answer(await withoutScheme(delivery)));
    expect(outcome.code).toBe("signature_missing");
    expect(operations()).toEqual([]);
  });

  test("does not read a body that is too long", async () => {
    const { receiver } = schemed({ greeting });
    const outcome = await receiver.receive({
      ...posted("hello!"),
      body: () => Promise.reject(new Error("must not be read")),
    });
    expect(outcome.code).toBe("signature_missing");
  });

  test("that an adapter could not read ends like any other body", async () => {
    const { receiver } = schemed({ greeting });
    const cut = { ...posted("hello"), body: new Uint8Array(2) };
    expect((await receiver.receive(cut)).code).toBe("body_unavailable");
  });

  test("does not respond to a request with a signature", async () => {
    const { receiver, clock } = schemed({ greeting });
    const malformed = await receiver.receive(posted("hello", { "x-test-signature": "0" }));
    expect(malformed.code).toBe("signature_malformed");
    const signed = schemeDelivery("hello", { secret, at: clock.now() });
    const genuine = await receiver.receive({
      ...signed,
      headers: { ...signed.headers, "content-length": "5" },
    });
    expect(genuine.code).toBe("malformed_body");
  });

  test("does not respond above maxConcurrent", async () => {
    const { receiver, clock, finish } = gated({
      secret,
      scheme: { ...testScheme, greeting },
      maxConcurrent: 1,
    });
    const pending = receiver.receive(schemeDelivery(undefined, { secret, at: clock.now() }));
    await settled();
    expect((await receiver.receive(posted("hello"))).code).toBe("overloaded");
    await finish();
    await pending;
    expect((await receiver.receive(posted("hello"))).code).toBe("handshake");
  });
});
