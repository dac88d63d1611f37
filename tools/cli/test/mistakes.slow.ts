import type { RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { PGlite } from "@electric-sql/pglite";
import { createClient } from "@svc-webhooks/client";
import {
  answer,
  createReceiver,
  type Handler,
  memoryStore,
  type OutcomeCode,
  type Receiver,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";
import { webhooks as express } from "@svc-webhooks/express";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks } from "@svc-webhooks/node";
import { fromPglite, postgresStore } from "@svc-webhooks/postgres";
import { redisStore } from "@svc-webhooks/redis";
import { fakeClock, signedDelivery } from "@svc-webhooks/testing";
import expressApp from "express";
import { createClient as createRedis } from "redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { json } from "./support.js";

// The mistakes of a first use, planted as a user would make them. Each is named with its cause and its fix on every
// surface that sees it. The texts are those of the table of outcomes, so a code identifies them.

/** A database without the schema of the store. */
const database = new PGlite();
beforeAll(() => database.waitReady);
afterAll(() => database.close());

const never = new Promise<never>(() => {});

/** Passes requests on to a receiver as a proxy that changes their headers, or returns another body. */
const proxied =
  (change: (headers: Record<string, string | undefined>, body: string) => string | void) =>
  (receiver: Receiver): RequestListener =>
  async (request, response) => {
    const headers = { ...request.headers } as Record<string, string | undefined>;
    const received = await buffer(request).catch(() => undefined);
    if (!received) return;
    const body = change(headers, received.toString());
    if (body !== undefined) delete headers["content-length"];
    const { status, body: text } = answer(
      await receiver.receive({
        method: request.method ?? "",
        headers,
        body: body === undefined ? received : Buffer.from(body),
      }),
    );
    response.writeHead(status, { "cache-control": "no-store" }).end(text);
  };

const without = (name: string) => proxied((headers) => void delete headers[name]);

interface Planted {
  readonly options?: (secret: string) => Partial<ReceiverOptions>;
  readonly mount?: (receiver: Receiver) => RequestListener;
  /** The types that the endpoint subscribes to. */
  readonly types?: readonly string[];
  /** How often the endpoint is registered. */
  readonly registers?: number;
  /** Whether the secret is rotated after the receiver has got it. */
  readonly rotates?: boolean;
}

interface Mistake extends Planted {
  /** The code of the receiver's outcome. */
  readonly code: OutcomeCode;
  /** The id of the first finding of `doctor`, or of the mistake that it names. Undefined if it sees none. */
  readonly doctor: string | undefined;
}

const atDelivery: Readonly<Record<string, Mistake>> = {
  "1 a wrong secret": {
    code: "signature_mismatch",
    options: () => ({ secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" }),
    doctor: "wrong_secret",
  },
  "3 a parser before the receiver": {
    code: "body_unavailable",
    mount: (receiver) =>
      expressApp().use(expressApp.json()).post("/webhooks", express(receiver)) as RequestListener,
    doctor: "parser_before_receiver",
  },
  "5 a misspelt type": {
    code: "ignored",
    options: () => ({ on: { "email.send": () => {} } }),
    doctor: "ignored",
  },
  "6 a proxy removes the signature": {
    code: "signature_missing",
    mount: without("x-svc-signature"),
    doctor: "header_removed",
  },
  "6b a proxy removes the delivery id": {
    code: "delivery_id_missing",
    mount: without("x-svc-delivery-id"),
    doctor: "header_removed",
  },
  "6c a proxy doubles the signature": {
    code: "signature_malformed",
    mount: proxied((headers) => {
      headers["x-svc-signature"] += `, ${headers["x-svc-signature"]}`;
    }),
    doctor: "header_removed",
  },
  "7 a proxy parses and serializes bodies": {
    code: "signature_mismatch",
    mount: proxied((_headers, body) =>
      body.startsWith("{") ? JSON.stringify(JSON.parse(body)) : body,
    ),
    doctor: "reserialized_json",
  },
  "8 a handler never resolves": {
    code: "handler_timeout",
    options: () => ({ handlerTimeoutMs: 20, on: { "*": () => never } }),
    doctor: "handler_timeout",
  },
  "9 a handler throws": {
    code: "handler_failed",
    options: () => ({
      on: {
        "*": () => {
          throw new Error("no such customer");
        },
      },
    }),
    doctor: "handler_failed",
  },
  "11 the store is down": {
    code: "store_unavailable",
    options: () => {
      const store = memoryStore();
      return { store: { ...store, shared: false, claim: () => Promise.reject(new Error("down")) } };
    },
    doctor: "store_unavailable",
  },
  "11b a Redis client that was never connected": {
    code: "store_unavailable",
    options: () => ({
      name: "app",
      store: redisStore(createRedis({ url: "redis://127.0.0.1:9" })),
    }),
    doctor: "store_unavailable",
  },
  "12 a database without the schema": {
    code: "store_unavailable",
    options: () => ({ name: "app", store: postgresStore(fromPglite(database)) }),
    doctor: "store_unavailable",
  },
  "14 a key that has expired": {
    code: "signature_mismatch",
    options: (secret) => ({
      secret: [
        { id: "new", key: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" },
        { id: "old", key: secret, expiresAt: Date.now() + 60_000 },
      ],
      clock: {
        now: () => Date.now() + 120_000,
        monotonic: () => performance.now(),
        after: () => () => {},
      },
    }),
    doctor: "wrong_secret",
  },
  "15 a proxy adds a newline": {
    code: "signature_mismatch",
    mount: proxied((_headers, body) => `${body}\n`),
    doctor: "newline_added",
  },
  "a secret function that fails": {
    code: "misconfigured",
    options: () => ({ secret: () => Promise.reject(new Error("no vault")) }),
    doctor: "misconfigured",
  },
};

interface Registered {
  readonly secret: string;
  readonly webhook_endpoint: { readonly webhook_endpoint_id: string };
}

/** Delivers an email to an app with a mistake. Returns what each surface shows. */
async function shownBy({
  options,
  mount = webhooks,
  types = ["email.sent"],
  registers = 1,
  rotates = false,
}: Planted) {
  const { sandbox, url } = await openSandbox({ assumptions: { "A-09": "none" } });
  let serve: RequestListener = (_request, response) => response.end();
  const target = `http://127.0.0.1:${await listen((request, response) => serve(request, response))}/webhooks`;
  const control = async (path: string, body: object) => {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await fetch(`${url}/_sandbox/${path}`, init)).json()) as Registered;
  };
  const register = () => control("endpoints", { url: target, event_types: types });
  const { secret, webhook_endpoint: endpoint } = await register();
  for (let more = 1; more < registers; more += 1) await register();
  const log: string[] = [];
  const given: ReceiverOptions = {
    secret,
    on: { "*": () => {} },
    log: (line) => void log.push(line),
    ...options?.(secret),
  };
  serve = mount(createReceiver(given));
  if (rotates) await control(`endpoints/${endpoint.webhook_endpoint_id}/rotate-secret`, {});
  await control("test-email", {});
  await sandbox.clock.advance(0);
  const env = { SVC_BASE_URL: url, ENDPOINT: secret };
  const listed = (await json(["service", "events", "list"], "", env)).value as {
    readonly data: readonly { readonly delivery_id: string; readonly last_response: string }[];
  };
  const id = listed.data[0]?.delivery_id ?? "";
  const page = await fetch(`${url}/?item=${id}`, { headers: { accept: "text/html" } });
  const examined = await json(
    ["doctor", target, "--secret-env=ENDPOINT", "--event=email.sent"],
    "",
    env,
  );
  const findings = examined.value["findings"] as readonly Readonly<Record<string, string>>[];
  return {
    log: log.join("\n"),
    list: listed.data[0]?.last_response,
    page: unescaped(await page.text()),
    doctor: findings.flatMap(({ id: one, mistake }) => [one, mistake]),
  };
}

/** Returns the text of a page, with its code between backticks as in the table of texts. */
const unescaped = (html: string) =>
  html
    .replaceAll(/<\/?code>/g, "`")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

describe("a mistake that a delivery meets is named by the log, the list, the page and doctor", () => {
  test.each(Object.entries(atDelivery))("%s", async (_what, mistake) => {
    const { log, list, page, doctor } = await shownBy(mistake);
    const { happened, fix } = outcomeTexts[mistake.code];
    expect(log).toContain(`: ${mistake.code}: `);
    expect(list).toContain(mistake.code);
    expect(page).toContain(happened);
    expect(page).toContain(fix);
    expect(doctor).toContain(mistake.doctor);
  });
});

const on = { "*": () => {} };

describe("a mistake that no delivery meets is named where it is made", () => {
  test.each([
    ["2 a secret in quotes", '"whsec_test"'],
    ["2 a secret with one quote", '"whsec_test'],
    ["21 an abbreviated secret", "whsec_…"],
    ["21 a placeholder", "your-secret"],
    ["21 a variable that was not replaced", "$SVC_WEBHOOK_SECRET"],
    ["22 the API key", "svc_test_key"],
  ])("%s", (_what, secret) => {
    vi.stubEnv("SVC_API_KEY", "svc_test_key");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => createReceiver({ secret, on })).toThrow(
      expect.objectContaining({ code: "invalid_secret", option: "secret" }),
    );
  });

  test("24 no API key", () => {
    vi.stubEnv("SVC_API_KEY", undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => createClient({ baseUrl: "http://127.0.0.1:4010" })).toThrow(
      expect.objectContaining({ code: "invalid_option", param: "apiKey" }),
    );
  });
});

describe("a mistake of the set-up is named by the surfaces that see it", () => {
  test("4 a wrong path", async () => {
    const { page, list, doctor } = await shownBy({
      mount: (receiver) => expressApp().post("/hooks", express(receiver)) as RequestListener,
    });
    expect([list, doctor]).toEqual(["404", ["not_found", undefined]]);
    expect(page).toContain('data-finding="receiver_responds_4xx"');
  });

  test("13 two receivers with one name", async () => {
    const store = memoryStore();
    const log: string[] = [];
    const [first, second] = Array.from({ length: 2 }, () =>
      createReceiver({
        secret: "whsec_test",
        store,
        name: "app",
        dedupeBy: "event",
        eventId: ({ event_id: id }) => String(id),
        on,
        log: (line) => void log.push(line),
      }),
    );
    const event = { type: "email.sent", event_id: "evt_1" };
    await first?.receive(await signedDelivery(event, { headers: { "x-svc-delivery-id": "a" } }));
    const copy = await signedDelivery(event, { headers: { "x-svc-delivery-id": "b" } });
    expect((await second?.receive(copy))?.warnings).toContain("other_delivery_id");
    expect(log.join()).toContain(outcomeTexts.other_delivery_id.fix);
  });

  test("16 a GET of a browser", async () => {
    const receiver = createReceiver({ secret: "whsec_test", on });
    const response = await receiver.fetch(new Request("http://app.test/webhooks"));
    expect([response.status, await response.json()]).toMatchObject([
      405,
      { error: { code: "method_not_allowed" } },
    ]);
  });

  test("17 a type without a subscription", async () => {
    const { page } = await shownBy({ types: ["domain.updated"] });
    expect(page).toContain('data-finding="type_not_subscribed"');
  });

  test("18 a secret that was rotated", async () => {
    const { page, log } = await shownBy({ rotates: true });
    expect(page).toContain("secret was rotated");
    expect(log).toContain(": signature_mismatch: ");
  });

  test("23 one URL registered twice", async () => {
    const { page } = await shownBy({ registers: 2 });
    expect(page).toContain('data-finding="url_registered_twice"');
  });

  test("19 a process that is killed in its handler", async () => {
    const clock = fakeClock();
    const log: string[] = [];
    const store = memoryStore({ clock });
    const receiver = (handler: Handler) =>
      createReceiver({
        secret: "whsec_test",
        store,
        clock,
        name: "app",
        leaseMs: 10_000,
        maxRunMs: 10_000,
        on: { "*": handler },
        log: (line) => void log.push(line),
      });
    const delivery = await signedDelivery({ type: "email.sent" });
    void receiver(() => never).receive(delivery);
    await clock.advance(30_000);
    const outcome = await receiver(() => {}).receive(delivery);
    expect([outcome.code, outcome.warnings]).toEqual(["processed", ["taken_over"]]);
    expect(log.join()).toContain(outcomeTexts.taken_over.fix);
  });
});

// 20, the module system, cannot be wrong: see test/package/tarballs.matrix.ts.
test("10 a missing await is seen by nothing, because the handler has resolved", async () => {
  let isDone = false;
  const { list, doctor } = await shownBy({
    options: () => ({ on: { "*": () => void Promise.resolve().then(() => (isDone = true)) } }),
  });
  expect([isDone, list, doctor]).toEqual([true, "200 processed", []]);
});
