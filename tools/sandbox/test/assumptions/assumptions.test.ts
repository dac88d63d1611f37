import { describe, expect, test } from "vitest";
import { createSandbox, type SandboxOptions } from "@svc-webhooks/sandbox";
import {
  hmac,
  impatient,
  open,
  receiver,
  type Opened,
  type Receiver,
  type Respond,
} from "../support.js";

/** The behavior that a developer sees under an assumption's default and under an alternative. */
interface Row {
  /** The assumption's id and an alternative, as the ledger lists it. */
  readonly name: string;
  /** The word to select, if the alternative contains a placeholder. */
  readonly word?: string;
  readonly options?: SandboxOptions;
  readonly see: (opened: Opened) => unknown;
  readonly byDefault: unknown;
  readonly chosen: unknown;
}

const status = async (reply: Promise<{ readonly status: number }>) => (await reply).status;
const types = ["email.sent", "email.delivered"];

async function history({ send, call, clock }: Opened) {
  const { body } = await send();
  await clock.advance(0);
  const found = await call(`GET /v1/sends/${body.send_id}`);
  return found.body.history.map((entry: { readonly status: string }) => entry.status);
}

/** Sends one email to a receiver, and runs everything that is due within `ms`. */
async function deliver(
  { register, send, clock }: Opened,
  respond: Respond = 200,
  ms = 0,
): Promise<Receiver & { readonly id: string; readonly secret: string }> {
  const receiving = await receiver(respond, { clock });
  const endpoint = await register(receiving.url);
  await send();
  await clock.advance(ms);
  return { ...receiving, ...endpoint };
}

async function received(opened: Opened) {
  const { got } = await deliver(opened);
  return got.map(({ body }) => Object.keys(JSON.parse(body.toString()) as object));
}

/** Returns the times of all attempts at a receiver that always fails. */
async function schedule(opened: Opened) {
  const start = opened.clock.now();
  const { got } = await deliver(opened, 500, 100 * 3_600_000);
  return got.map(({ at }) => at - start);
}

/** Returns a delivery's state after its first attempt, and the wait until the next one. */
async function afterOne(opened: Opened, respond: Respond, ms = 0) {
  await deliver(opened, respond, ms);
  const [event] = await opened.events();
  const next = event?.next_attempt_at && Date.parse(event?.next_attempt_at) - opened.clock.now();
  return [event?.status, next];
}

async function domainOutcomes({ call }: Opened) {
  const outcomes: string[] = [];
  for (const domain_name of ["a.example.test", "a.fail.test"]) {
    const { body } = await call("POST /v1/domains", { domain_name });
    outcomes.push((await call(`POST /v1/domains/${body.domain_id}:verify`)).body.status);
  }
  return outcomes;
}

async function errorForm({ call }: Opened) {
  const { headers, body } = await call("GET /v1/sends/send_unknown");
  return [headers.get("content-type"), Object.keys(body), Object.keys(body.error ?? {})];
}

/** Makes three requests. With a limit of two, the third is rejected. */
async function limited({ call, clock }: Opened) {
  await call("GET /v1/webhook-event-types");
  await clock.advance(4_000);
  const { headers: second } = await call("GET /v1/no-such-route");
  const { status: third, headers } = await call("GET /v1/webhook-event-types");
  return [
    [second.get("x-ratelimit-limit"), second.get("x-ratelimit-remaining")],
    [third, headers.get("x-ratelimit-remaining"), headers.get("x-ratelimit-reset")],
    headers.get("retry-after"),
    headers.get("date"),
  ];
}

/** Returns which secret signed each attempt, with a rotation after the first one. */
async function signers(opened: Opened) {
  const { got, id, secret } = await deliver(opened, 500);
  const { body } = await opened.call(`POST /v1/webhook-endpoints/${id}:rotate-secret`);
  await opened.clock.advance(100_000);
  return got.map(({ headers, body: bytes }) => {
    if (headers["x-svc-signature"] === hmac(bytes, secret)) return "old";
    return headers["x-svc-signature"] === hmac(bytes, body.secret) ? "new" : "neither";
  });
}

async function registered({ call }: Opened) {
  const results: number[] = [];
  for (const url of ["http://127.0.0.1:9", "https://public.example", "https://private.example"]) {
    results.push(
      await status(call("POST /v1/webhook-endpoints", { url, event_types: ["email.sent"] })),
    );
  }
  return results;
}

const lookup: SandboxOptions["lookup"] = async (name) => [
  { address: name === "public.example" ? "93.184.216.34" : "10.0.0.1", family: 4 },
];

/**
 * Sends one event to two endpoints. Returns whether its deliveries share their ids, and the statuses of redeliveries
 * without and with an endpoint.
 */
async function toTwo({ register, send, events, clock, call }: Opened) {
  const [one, two] = [await receiver(500), await receiver(500)];
  const { id } = await register(one.url);
  await register(two.url);
  await send();
  await clock.advance(0);
  const [first, second] = await events();
  const path = `POST /v1/webhook-events/${first?.event_id}:redeliver`;
  const unscoped = await status(call(path));
  await clock.advance(0);
  return [
    first?.event_id === second?.event_id,
    first?.source_event_id === second?.source_event_id,
    unscoped,
    await status(call(`${path}?webhook_endpoint_id=${id}`)),
  ];
}

const fast = [0, 1_000, 6_000, 21_000, 81_000];
const start = 1_800_000_000_000;
const timed: SandboxOptions = { clock: { mode: "manual", start, patienceMs: 600_000 } };
const limitedAt = new Date(start + 4_000).toUTCString();
const rateOff = [[null, null], [200, null, null], null, limitedAt];
const unshown = null;

const rows: readonly Row[] = [
  ...(
    [
      ["bounced", ["accepted", "sent", "bounced"]],
      ["failed", ["accepted", "failed"]],
      ["delayed", ["accepted", "sent", "delayed"]],
    ] as const
  ).map(([word, chosen]) => ({
    name: `A-01 ${word}`,
    see: history,
    byDefault: ["accepted", "sent", "delivered"],
    chosen,
  })),
  {
    name: "A-02 minimal",
    see: async ({ send, call }) =>
      Object.keys((await call(`GET /v1/sends/${(await send()).body.send_id}`)).body).length,
    byDefault: 11,
    chosen: 2,
  },
  {
    name: "A-03 extra:<type>,<type>",
    word: "extra:email.opened,email.clicked",
    see: async ({ call }) => [
      (await call("GET /v1/webhook-event-types")).body.data.length,
      await status(
        call("POST /v1/webhook-endpoints", {
          url: "http://127.0.0.1:9",
          event_types: ["email.opened"],
        }),
      ),
    ],
    byDefault: [3, 400],
    chosen: [5, 201],
  },
  {
    name: "A-04 none",
    see: async (opened) => (await received(opened)).length,
    byDefault: 1,
    chosen: 0,
  },
  ...(["verified", "failed"] as const).map((word) => ({
    name: `A-05 ${word}`,
    see: domainOutcomes,
    byDefault: ["verified", "failed"],
    chosen: [word, word],
  })),
  ...(
    [
      ["reject", [400, 0]],
      ["allow", [202, 0]],
    ] as const
  ).map(([word, chosen]) => ({
    name: `A-06 ${word}`,
    see: async ({ send, lines }: Opened) => [await status(send()), lines.length],
    byDefault: [202, 1],
    chosen,
  })),
  ...(
    [
      ["short", ["id", "type", "timestamp", "data"]],
      [
        "bare",
        "email_id,message_id,send_id,status,subject,from,recipients,message_class,created_at".split(
          ",",
        ),
      ],
    ] as const
  ).map(([word, chosen]) => ({
    name: `A-07 ${word}`,
    see: received,
    byDefault: [["event_id", "type", "created_at", "data"]],
    chosen: [chosen],
  })),
  {
    name: "A-09 realistic",
    see: schedule,
    byDefault: fast,
    // 99,305 s are 27 h 35 min 5 s.
    chosen: [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 99_305].map((seconds) => seconds * 1_000),
  },
  { name: "A-09 none", see: schedule, byDefault: fast, chosen: [0] },
  {
    name: "A-09 <delay>,<delay>",
    word: "250ms,1m",
    see: schedule,
    byDefault: fast,
    chosen: [0, 250, 60_250],
  },
  {
    name: "A-10 only200",
    see: (opened) => afterOne(opened, 204),
    byDefault: ["succeeded", unshown],
    chosen: ["pending", 1_000],
  },
  {
    name: "A-10 stop:<status>+<status>",
    word: "stop:404+410",
    see: (opened) => afterOne(opened, 410),
    byDefault: ["pending", 1_000],
    chosen: ["failed", unshown],
  },
  ...(["30", new Date(start + 30_000).toUTCString()] as const).map((value) => ({
    name: "A-10 honorRetryAfter",
    options: timed,
    see: (opened: Opened) =>
      afterOne(opened, (response) => response.writeHead(503, { "retry-after": value }).end()),
    byDefault: ["pending", 1_000],
    chosen: ["pending", 30_000],
  })),
  {
    name: "A-10 timeout:<duration>",
    word: "timeout:2s",
    options: { clock: impatient },
    see: (opened) => afterOne(opened, () => {}, 2_000),
    byDefault: ["attempting", unshown],
    chosen: ["pending", 1_000],
  },
  {
    name: "A-11 flat",
    see: errorForm,
    byDefault: ["application/json", ["error"], ["code", "message", "param", "request_id"]],
    chosen: ["application/json", ["code", "message", "param", "request_id"], []],
  },
  {
    name: "A-11 problem",
    see: errorForm,
    byDefault: ["application/json", ["error"], ["code", "message", "param", "request_id"]],
    chosen: [
      "application/problem+json",
      ["type", "title", "status", "detail", "code", "param", "request_id"],
      [],
    ],
  },
  {
    name: "A-13 422",
    see: async ({ send }) => {
      const reply = await send({ message_class: "marketing" });
      return [reply.status, reply.body.error.code, reply.body.error.param];
    },
    byDefault: [400, "invalid_request", "message_class"],
    chosen: [422, "invalid_request", "message_class"],
  },
  {
    name: "A-14 422",
    see: async ({ send }) => {
      const key = { "idempotency-key": "one" };
      await send({}, key);
      const reply = await send({ subject: "Other" }, key);
      return [reply.status, reply.body.error.code];
    },
    byDefault: [409, "idempotency_conflict"],
    chosen: [422, "idempotency_conflict"],
  },
  {
    name: "A-15 array",
    see: async ({ call }) => [
      Object.keys((await call("GET /v1/webhook-events")).body),
      JSON.parse((await call("GET /v1/webhook-event-types")).text).length,
    ],
    byDefault: [["data", "has_more", "next_cursor"], undefined],
    chosen: [[], 3],
  },
  ...(
    [
      ["epoch", String((start + 10_000) / 1_000), "6"],
      ["delta", "6", "6"],
      ["http-date", String((start + 10_000) / 1_000), new Date(start + 10_000).toUTCString()],
    ] as const
  ).map(([form, reset, after]) => ({
    name: `A-16 ${form}:<limit>/<duration>`,
    word: `${form}:2/10s`,
    options: timed,
    see: limited,
    byDefault: rateOff,
    chosen: [["2", "0"], [429, "0", reset], after, limitedAt],
  })),
  {
    name: "A-17 any",
    see: async (opened) => {
      await deliver(opened);
      const [event] = await opened.events();
      return status(opened.call(`POST /v1/webhook-events/${event?.event_id}:redeliver`));
    },
    byDefault: 409,
    chosen: 202,
  },
  {
    name: "A-18 fresh",
    see: async (opened) => {
      const { got, values } = await deliver(opened, [500]);
      const [event] = await opened.events();
      await opened.call(`POST /v1/webhook-events/${event?.event_id}:redeliver`);
      await opened.clock.advance(0);
      return [
        new Set(values("x-svc-delivery-id")).size,
        new Set(values("x-svc-event-id")).size,
        new Set(got.map(({ body }) => body.toString())).size,
        values("x-svc-attempt"),
      ];
    },
    byDefault: [1, 1, 1, ["1", "2"]],
    chosen: [2, 1, 1, ["1", "1"]],
  },
  {
    name: "A-19 deferred:<duration>",
    word: "deferred:30s",
    see: signers,
    byDefault: ["old", "new", "new", "new", "new"],
    chosen: ["old", "old", "old", "old", "new"],
  },
  {
    name: "A-19 pinned",
    see: signers,
    byDefault: ["old", "new", "new", "new", "new"],
    chosen: ["old", "old", "old", "old", "old"],
  },
  {
    name: "A-20 base64",
    see: async (opened) => {
      const { got, secret } = await deliver(opened);
      const [delivery] = got;
      const sent = delivery?.headers["x-svc-signature"];
      const body = delivery?.body ?? Buffer.of();
      const decoded = Buffer.from(secret.slice("whsec_".length), "base64");
      return [sent === hmac(body, secret), sent === hmac(body, decoded), decoded.length];
    },
    byDefault: [true, false, 24],
    chosen: [false, true, 24],
  },
  {
    name: "A-21 private",
    options: { lookup },
    see: registered,
    byDefault: [201, 400, 400],
    chosen: [201, 400, 201],
  },
  {
    name: "A-21 strict",
    options: { lookup },
    see: registered,
    byDefault: [201, 400, 400],
    chosen: [400, 201, 400],
  },
  {
    name: "A-22 204",
    see: async ({ register, call }) => {
      const { id } = await register("http://127.0.0.1:9");
      const reply = await call(`DELETE /v1/webhook-endpoints/${id}`);
      return [reply.status, reply.body?.status];
    },
    byDefault: [200, "archived"],
    chosen: [204, undefined],
  },
  {
    name: "A-23 per-key",
    see: async ({ register, call }) => {
      const { id } = await register("http://127.0.0.1:9");
      const path = `GET /v1/webhook-events?webhook_endpoint_id=${id}`;
      return [
        await status(call(path)),
        await status(call(path, undefined, { authorization: "Bearer other" })),
      ];
    },
    byDefault: [200, 200],
    chosen: [200, 404],
  },
  {
    name: "A-23 keys:<key>,<key>",
    word: "keys:alpha,beta",
    see: async ({ call }) => {
      const results: number[] = [];
      for (const key of ["alpha", "beta", "gamma"]) {
        const authorization = `Bearer ${key}`;
        results.push(await status(call("GET /v1/webhook-events", undefined, { authorization })));
      }
      return results;
    },
    byDefault: [200, 200, 200],
    chosen: [200, 200, 401],
  },
  {
    name: "A-24 <size>",
    word: "64B",
    see: async ({ send }) => {
      const reply = await send();
      return [reply.status, reply.body.error?.code];
    },
    byDefault: [202, undefined],
    chosen: [413, "body_too_large"],
  },
  {
    name: "A-25 compact",
    see: async (opened) => {
      const text = (await deliver(opened)).got[0]?.body.toString() ?? "";
      return [text.includes('", "'), JSON.stringify(JSON.parse(text)) === text];
    },
    byDefault: [true, false],
    chosen: [false, true],
  },
  {
    name: "A-26 per-endpoint",
    see: async ({ register, send, clock, events }) => {
      const { url } = await receiver();
      await register(url, ...types);
      await send();
      await send();
      await clock.advance(0);
      return new Set((await events()).map((event) => event.subscription_id)).size;
    },
    byDefault: 2,
    chosen: 1,
  },
  {
    name: "A-27 shared",
    see: toTwo,
    byDefault: [false, true, 202, 202],
    chosen: [true, true, 400, 202],
  },
];

describe("an alternative over HTTP", () => {
  test.for(rows)("$name changes what a client or receiver sees", async (row) => {
    const [id = "", alternative = ""] = row.name.split(" ");
    const plain = await open(row.options);
    expect(await row.see(plain)).toEqual(row.byDefault);
    const other = await open({ ...row.options, assumptions: { [id]: row.word ?? alternative } });
    expect(await row.see(other)).toEqual(row.chosen);
  });

  test("is in a row of this file, for each alternative of the ledger", () => {
    const listed = createSandbox()
      .assumptions()
      .flatMap(({ id, alternatives }) => alternatives.map((alternative) => `${id} ${alternative}`));
    expect(listed.filter((name) => !rows.some((row) => row.name === name))).toEqual([]);
  });
});

describe("an alternative in process", () => {
  test("A-04 takes a map from occasions to types", async () => {
    const opened = await open({ assumptions: { "A-04": { "send.sent": "email.delivered" } } });
    const { url, got } = await receiver();
    await opened.register(url, ...types);
    await opened.send();
    await opened.clock.advance(0);
    expect(got.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)).toEqual([
      "email.delivered",
    ]);
  });

  test("A-07 takes a function", async () => {
    const body = (event: { readonly type: string }) => ({ kind: event.type, "a:b": "c,d" });
    const { got } = await deliver(await open({ assumptions: { "A-07": body } }));
    expect(got[0]?.body.toString()).toBe('{"kind": "email.sent", "a:b": "c,d"}');
  });

  test("a function for A-07 that throws is reported and delivers nothing", async () => {
    const body = () => {
      throw new Error("no body");
    };
    const opened = await open({ assumptions: { "A-06": "allow", "A-07": body } });
    expect(await history(opened)).toEqual(["accepted", "sent", "delivered"]);
    await opened.register("http://127.0.0.1:9");
    expect(await history(opened)).toEqual(["accepted", "sent", "delivered"]);
    expect(await opened.events()).toEqual([]);
    expect(opened.lines).toEqual([expect.stringMatching(/^src_\w+: .*\(A-07\): no body$/)]);
  });
});

test("the assumptions are listed in the order of their ids", async () => {
  const ids = (await open()).sandbox.assumptions().map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted());
});

test("a recipient whose name asks for it gets another status than A-01", async () => {
  const { send, call, clock } = await open();
  const seen: string[] = [];
  for (const name of ["bounced", "failed", "delayed", "ada"]) {
    const { body } = await send({ to: [`${name}@mail.test`] });
    await clock.advance(0);
    seen.push((await call(`GET /v1/sends/${body.send_id}`)).body.status);
  }
  expect(seen).toEqual(["bounced", "failed", "delayed", "delivered"]);
});

test("a redirect is not followed and counts as a failure", async () => {
  const opened = await open();
  const target = await receiver();
  const result = await afterOne(opened, (response) =>
    response.writeHead(307, { location: target.url }).end(),
  );
  expect([result, target.got.length]).toEqual([["pending", 1_000], 0]);
});

test("under A-21 strict, an address that becomes private is refused at the attempt", async () => {
  let address = "93.184.216.34";
  const opened = await open({
    assumptions: { "A-21": "strict" },
    lookup: async () => [{ address, family: 4 }],
  });
  await opened.register("https://public.example/hooks");
  address = "127.0.0.1";
  await opened.send();
  await opened.clock.advance(0);
  const [delivery] = await opened.deliveries();
  expect(delivery?.attempts).toMatchObject([{ error: "url_refused" }]);
});
