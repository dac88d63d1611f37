import { describe, expect, test } from "vitest";
import {
  AuthenticationError,
  ConflictError,
  createClient,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  ServerError,
  type ApiError,
  type Client,
} from "../src/index.js";
import { apiKey, collected, email, errorOf, open, type Opened } from "./support.js";
import { worlds, type Words } from "./worlds.js";

interface Context extends Opened {
  readonly words: Words;
  /** Registers an endpoint; under A-21 `strict` at an address that counts as public. */
  readonly register: (status?: () => number) => Promise<string>;
  /** Raises events, and lets time pass until none of their deliveries is pending. */
  readonly deliver: (count: number) => Promise<void>;
}

async function verifiedDomain({ domains }: Client) {
  const { domain_id: id } = await domains.create({ domain_name: "mail.example.test" });
  return domains.verify(id);
}

const send = ({ client }: Opened, changes: object = {}) =>
  client.emails.send({ ...email, ...changes });

async function listed(opened: Opened, webhook_endpoint_id: string) {
  const list = opened.client.webhookEvents.list({ webhook_endpoint_id, limit: 10 });
  const pages = await collected(list.pages());
  return { pages: pages.map(({ data }) => data.length), events: await collected(list) };
}

/** The expected error of an operation, in any of the shapes of A-11. */
interface Refusal {
  readonly type: new (...args: never[]) => ApiError;
  readonly status: number;
  readonly code: string;
  readonly param?: string;
}

async function refuses(result: Promise<unknown>, { type, ...facts }: Refusal) {
  const error = await errorOf(result);
  expect(error).toBeInstanceOf(type);
  expect(error).toMatchObject({ ...facts, requestId: expect.stringMatching(/^call_/) });
  expect(error.message).toMatch(
    new RegExp(`^(?!The response).+\\. \\(.*${facts.status}, ${facts.code}, `),
  );
}

const unknownId = { type: NotFoundError, status: 404, code: "not_found" };

const cases: Readonly<Record<string, (context: Context) => Promise<void>>> = {
  "adds and verifies a domain": async ({ client, words: { "A-05": word } }) => {
    const created = await client.domains.create({ domain_name: "mail.example.test" });
    expect(created).toMatchObject({ domain_name: "mail.example.test", status: "pending" });
    const verified = await client.domains.verify(created.domain_id);
    expect(verified?.status).toBe(word === "failed" ? "failed" : "verified");
  },

  "sends an email and follows it": async ({ client, words: { "A-01": word = "delivered" } }) => {
    await verifiedDomain(client);
    const { idempotencyKey, ...sent } = await client.emails.send(email);
    expect(sent).toMatchObject({ status: "accepted", subject: email.subject, from: email.from });
    expect([sent.email_id, idempotencyKey]).toEqual([
      expect.stringMatching(/^msg_/),
      expect.stringMatching(/^[\w-]{36}$/),
    ]);
    const reached = await client.sends.waitFor(sent.send_id, { until: word });
    expect(reached).toEqual(await client.sends.get(sent.send_id));
  },

  "lists the event types": async ({ client }) => {
    const types = await collected(client.webhookEventTypes.list());
    expect(types.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["email.sent", "email.delivered"]),
    );
  },

  "creates, rotates and archives an endpoint": async (context) => {
    const { webhookEndpoints } = context.client;
    const id = await context.register();
    const { secret, webhook_endpoint: rotated } = await webhookEndpoints.rotateSecret(id);
    expect(rotated).toMatchObject({ webhook_endpoint_id: id, status: "active" });
    expect(secret.reveal()).toMatch(/^whsec_/);
    const archived = await webhookEndpoints.archive(id);
    expect(archived?.status).toBe(context.words["A-22"] === "204" ? undefined : "archived");
    const conflict = { type: ConflictError, status: 409, code: "conflict" };
    await refuses(webhookEndpoints.rotateSecret(id), conflict);
  },

  "lists all deliveries, with pages and without": async (context) => {
    const id = await context.register();
    await context.deliver(12);
    const { pages, events } = await listed(context, id);
    const count = context.words["A-04"] === "none" ? 0 : 12;
    expect(events.map((event) => event.status)).toEqual(Array(count).fill("succeeded"));
    const hasPages = context.words["A-15"] !== "array" && count > 0;
    expect(pages).toEqual(hasPages ? [10, 2] : [count]);
  },

  "redelivers a failed delivery, and no other": async (context) => {
    const { client, sandbox } = context;
    let status = 500;
    const id = await context.register(() => status);
    await context.register(() => status);
    await context.deliver(1);
    const [event] = (await listed(context, id)).events;
    expect(event?.status).toBe("failed");
    status = 200;
    const redeliver = (webhook_endpoint_id?: string) =>
      client.webhookEvents.redeliver(event?.event_id ?? "", { webhook_endpoint_id });
    const ambiguous = {
      type: InvalidRequestError,
      status: 400,
      code: "invalid_request",
      param: "webhook_endpoint_id",
    };
    if (context.words["A-27"] === "shared") await refuses(redeliver(), ambiguous);
    expect((await redeliver(id))?.event_id).toBe(event?.event_id);
    await sandbox.clock.advance(0);
    const conflict = { type: ConflictError, status: 409, code: "conflict" };
    if (context.words["A-17"] === "any") expect((await redeliver(id))?.status).toBeDefined();
    else await refuses(redeliver(id), conflict);
  },

  "redelivers all failed deliveries of an endpoint": async (context) => {
    let status = 500;
    const id = await context.register(() => status);
    await context.deliver(3);
    status = 200;
    const counts = await context.client.webhookEvents.redeliverFailed({ webhook_endpoint_id: id });
    await context.sandbox.clock.advance(0);
    expect(counts).toEqual({ redelivered: 3, skipped: 0, failed: 0 });
    const { events } = await listed(context, id);
    expect(events.map((event) => event.status)).toEqual(Array(3).fill("succeeded"));
  },

  "rejects a request without its key": async ({ baseUrl }) => {
    const without = createClient({
      apiKey,
      baseUrl,
      fetch(url, { headers, ...init }) {
        const sent = new Headers(headers);
        sent.delete("authorization");
        return fetch(url, { ...init, headers: sent });
      },
    });
    const facts = { status: 401, code: "authentication_required", param: "Authorization" };
    await refuses(without.sends.get("send_1"), { type: AuthenticationError, ...facts });
  },

  "rejects an unknown id": async ({ client }) => {
    await refuses(client.sends.get("send_1"), { ...unknownId, param: "send_id" });
    await refuses(client.domains.verify("a/b?c"), { ...unknownId, param: "domain_id" });
  },

  "rejects what the service refuses": async (context) => {
    const { "A-06": from, "A-13": status = "400", "A-24": size } = context.words;
    const invalid = { type: InvalidRequestError, status: 400, code: "invalid_request" };
    const marketing = { message_class: "marketing" };
    await refuses(send(context, marketing), {
      ...invalid,
      status: Number(status),
      param: "message_class",
    });
    if (from === "reject") await refuses(send(context), { ...invalid, param: "from" });
    const tooLarge = { type: InvalidRequestError, status: 413, code: "body_too_large" };
    if (size) await refuses(send(context, { text: "x".repeat(3_000) }), tooLarge);
    const keyless = context.client.request("POST", "/v1/emails", { body: email });
    await refuses(keyless, {
      ...invalid,
      code: "missing_idempotency_key",
      param: "Idempotency-Key",
    });
  },

  "rejects another email with the same key": async (context) => {
    const { client } = context;
    await verifiedDomain(client);
    const options = { idempotencyKey: "order-1042" };
    const first = await client.emails.send(email, options);
    expect(await client.emails.send(email, options)).toEqual(first);
    await refuses(client.emails.send({ ...email, subject: "Other" }, options), {
      ...(context.words["A-14"] === "422"
        ? { type: InvalidRequestError, status: 422 }
        : { type: ConflictError, status: 409 }),
      code: "idempotency_conflict",
      param: "Idempotency-Key",
    });
  },

  "rejects after its last retry": async ({ client, fault }) => {
    await fault("status", { times: 3 });
    const unavailable = { type: ServerError, status: 500, code: "service_unavailable" };
    await refuses(client.emails.send(email), unavailable);
    await fault("status", { status: 429, retry_after: 3_600 });
    const limited = { type: RateLimitError, status: 429, code: "rate_limited" };
    await refuses(client.emails.send(email), { ...limited });
  },
};

/** Operations that cannot succeed: without a raised event, there is nothing to redeliver. */
const impossible: Words = { "A-04": "none" };

describe.for(worlds.map((world) => [JSON.stringify(world), world] as const))(
  "under %s, the client",
  ([, world]) => {
    const isPossible = (name: string) =>
      !name.startsWith("redelivers") ||
      Object.entries(impossible).every(([id, word]) => world[id] !== word);

    test.for(Object.keys(cases).filter(isPossible))("%s", async (name) => {
      const lookup = async () => [{ address: "93.184.216.34", family: 4 as const }];
      const opened = await open({ assumptions: world, lookup });
      const { client, sandbox } = opened;
      const target = world["A-21"] === "strict" ? "https://public.example/webhooks" : undefined;
      const run = cases[name]?.({
        ...opened,
        words: world,
        register: (status = () => 200) => opened.endpoint(status, target),
        async deliver(count) {
          for (let raised = 0; raised < count; raised += 1) await verifiedDomain(client);
          await sandbox.clock.advance(100 * 3_600_000);
        },
      });
      await expect(run).resolves.toBeUndefined();
    });
  },
);
