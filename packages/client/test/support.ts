import type { RequestListener } from "node:http";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { expect } from "vitest";
import {
  createClient,
  SvcError,
  type Client,
  type ClientClock,
  type ClientOptions,
  type ResponseNote,
} from "../src/index.js";

export const apiKey = "svc_live_0123456789abcdef";

export const email = {
  from: "ada@mail.example.test",
  to: ["grace@example.test"],
  subject: "Your receipt",
  text: "Thank you.",
} as const;

/** Returns options that record notes of all attempts, with a clock that does not wait. */
function recording(baseUrl: string, { now, sleep }: ClientClock, options: ClientOptions) {
  const notes: ResponseNote[] = [];
  const pauses: number[] = [];
  const clock: ClientClock = {
    now,
    async sleep(ms, signal) {
      pauses.push(ms);
      await sleep(ms, signal);
    },
  };
  const onResponse = (note: ResponseNote) => void notes.push(note);
  const client = createClient({ apiKey, baseUrl, clock, onResponse, ...options });
  return { client, baseUrl, notes, pauses };
}

export type Opened = Awaited<ReturnType<typeof open>>;

interface Call {
  readonly path: string;
  readonly idempotency_key: string;
  readonly send?: { readonly id: string };
}

/** A sandbox over HTTP, and a client whose pauses move the sandbox's clock. */
export async function open(sandboxOptions: SandboxOptions = {}, options: ClientOptions = {}) {
  const { sandbox, url } = await openSandbox(sandboxOptions);
  const { now, advance } = sandbox.clock;
  const sleep = (ms: number) => advance(Math.ceil(ms));
  const control = createClient({ apiKey, baseUrl: url });
  const calls = async () => {
    const { data } = await control.request<{ readonly data: readonly Call[] }>(
      "GET",
      "/_sandbox/timeline",
      { query: { limit: 100 } },
    );
    return data.toReversed();
  };
  return {
    ...recording(url, { now, sleep }, options),
    sandbox,
    control,
    calls,
    /** Orders failures of the next requests, by default of one email. */
    fault: (kind: string, more: object = {}) =>
      control.request("POST", "/_sandbox/faults", {
        body: { target: "POST /v1/emails", kind, ...more },
      }),
    /** Returns how many sends there are. */
    sends: async () => new Set((await calls()).flatMap(({ send }) => send?.id ?? [])).size,
    /** Registers an endpoint for `domain.updated`, whose receiver responds with the result of `status`. */
    endpoint: async (status: () => number, target = "http://127.0.0.1:9/webhooks") => {
      sandbox.deliverTo(() => new Response(null, { status: status() }));
      const { webhook_endpoint: made } = await control.webhookEndpoints.create({
        url: target,
        event_types: ["domain.updated"],
      });
      return made.webhook_endpoint_id;
    },
  };
}

/** Creates a client of a plain server, with a time of its own. */
export async function against(listener: RequestListener, options: ClientOptions = {}) {
  let now = 1_800_000_000_000;
  const clock = { now: () => now, sleep: async (ms: number) => void (now += ms) };
  return recording(`http://127.0.0.1:${await listen(listener)}`, clock, options);
}

/** Returns the error that an operation rejects with. */
export async function errorOf(result: Promise<unknown>): Promise<SvcError> {
  const error: unknown = await result.then(
    (value) => new Error(`It resolved with ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  );
  if (error instanceof SvcError) return error;
  throw error;
}

/** Matches a pause of at least `ms`, and at most 250 more, as after a first attempt. */
export const about = (ms: number, more = 250): number =>
  expect.toSatisfy((pause: number) => pause >= ms && pause <= ms + more);

/** Returns all items of a list. Node 20 has no `Array.fromAsync`. */
export async function collected<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** The resources that the operations below use. */
export interface Ids {
  readonly send: string;
  readonly domain: string;
  readonly endpoint: string;
  /** A failed delivery. */
  readonly event: string;
}

/** Every operation that makes one request, by the route of the interface. */
export const operations: Readonly<Record<string, (client: Client, ids: Ids) => Promise<unknown>>> =
  {
    "POST /v1/emails": ({ emails }) => emails.send(email),
    "GET /v1/sends/{send_id}": ({ sends }, ids) => sends.get(ids.send),
    "POST /v1/domains": ({ domains }) => domains.create({ domain_name: "mail.example.test" }),
    "POST /v1/domains/{domain_id}:verify": ({ domains }, ids) => domains.verify(ids.domain),
    "GET /v1/webhook-event-types": ({ webhookEventTypes }) => collected(webhookEventTypes.list()),
    "POST /v1/webhook-endpoints": ({ webhookEndpoints }) =>
      webhookEndpoints.create({ url: "http://127.0.0.1:9", event_types: ["email.sent"] }),
    "GET /v1/webhook-events": ({ webhookEvents }) => collected(webhookEvents.list()),
    "POST /v1/webhook-events/{event_id}:redeliver": ({ webhookEvents }, ids) =>
      webhookEvents.redeliver(ids.event),
    "POST /v1/webhook-endpoints/{webhook_endpoint_id}:rotate-secret": (client, ids) =>
      client.webhookEndpoints.rotateSecret(ids.endpoint),
    "DELETE /v1/webhook-endpoints/{webhook_endpoint_id}": ({ webhookEndpoints }, ids) =>
      webhookEndpoints.archive(ids.endpoint),
  };

/** Creates the resources that the operations use. */
export async function prepare({ control, endpoint, sandbox }: Opened): Promise<Ids> {
  const webhook_endpoint_id = await endpoint(() => 500);
  const domain = await control.domains.create({ domain_name: "mail.example.test" });
  await control.domains.verify(domain.domain_id);
  const send = await control.emails.send(email);
  await sandbox.clock.advance(3_600_000);
  const [event] = await collected(control.webhookEvents.list({ webhook_endpoint_id }));
  return {
    send: send.send_id,
    domain: domain.domain_id,
    endpoint: webhook_endpoint_id,
    event: event?.event_id ?? "",
  };
}
