import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import type { Sandbox, SandboxOptions } from "@svc-webhooks/sandbox";
import { onTestFinished } from "vitest";
import type { BodyOf, Call, Fault, WebhookEvent } from "@svc-webhooks/kit/sandbox-responses";

export interface Reply<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed text; undefined if it is not JSON. */
  readonly body: Body;
}

export const apiKey = "svc_live_0123456789abcdef";

export const email = {
  from: "ada@mail.example.test",
  to: ["grace@example.test", "linus@example.test"],
  subject: "Your receipt",
  html: "<p>Thank you.</p>",
  text: "Thank you.",
};

export const allTypes = ["email.sent", "email.delivered", "domain.updated"];

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A POST with an API key and an idempotency key, for tests that open the sandbox in their own way. */
export const posted = (body: object): RequestInit => ({
  method: "POST",
  headers: {
    authorization: "Bearer svc_test",
    "content-type": "application/json",
    "idempotency-key": "key",
  },
  body: JSON.stringify(body),
});

/** The clock for receivers that never respond: it waits for them for 1 s of real time. */
export const impatient = { mode: "manual", patienceMs: 1_000 } as const;

let keys = 0;

export type Opened = Awaited<ReturnType<typeof open>>;

/** A sandbox of `openSandbox`, and the means to call it. */
export async function open(options: SandboxOptions = {}) {
  const { sandbox, url, lines } = await openSandbox(options);

  /** Calls `"POST /v1/domains"` with an API key; a header of null is left out. */
  async function call<Route extends string>(
    route: Route,
    body?: unknown,
    headers: Readonly<Record<string, string | null | undefined>> = {},
  ): Promise<Reply<BodyOf<Route>>> {
    const [method = "", path = ""] = route.split(" ");
    const all = Object.entries({
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(route === "POST /v1/emails" ? { "idempotency-key": `key-${(keys += 1)}` } : {}),
      ...headers,
    }).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: all,
      body: isRaw ? body : body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: parsed(text) as BodyOf<Route>,
    };
  }
  /** A control route: `"GET overview"`. */
  const control = async <Route extends string>(route: Route, body?: unknown) =>
    (await call(route.replace(" ", " /_sandbox/"), body)) as Reply<BodyOf<Route>>;
  /** The calls of the timeline, oldest first. */
  async function calls(): Promise<Call[]> {
    const all: Call[] = [];
    let before = "";
    do {
      const { body } = await control(`GET timeline?limit=100${before}`);
      all.push(...body.data);
      before = body.has_more ? `&before=${body.next_cursor}` : "";
    } while (before !== "");
    return all.toReversed();
  }
  async function register(target: string, ...types: string[]) {
    const event_types = types.length === 0 ? ["email.sent"] : types;
    const created = { url: target, event_types };
    const { status, body } = await call("POST /v1/webhook-endpoints", created);
    if (status !== 201) throw new Error(`The endpoint was refused: ${JSON.stringify(body)}`);
    return { id: body.webhook_endpoint.webhook_endpoint_id, secret: body.secret };
  }
  const sourceEvents = async () => (await calls()).flatMap(({ events }) => events);
  return {
    sandbox,
    clock: sandbox.clock,
    url,
    lines,
    call,
    control,
    calls,
    sourceEvents,
    deliveries: async () => (await sourceEvents()).flatMap(({ deliveries }) => deliveries),
    /** The ids of all sends, oldest first. */
    sends: async (): Promise<string[]> =>
      Array.from(new Set((await calls()).flatMap(({ send }) => send?.id ?? []))),
    send: (changes: object = {}, headers: Readonly<Record<string, string | null>> = {}) =>
      call("POST /v1/emails", { ...email, ...changes }, headers),
    /** Orders a fault, by default of the next email; returns its record. */
    fault: async (kind: string, more: object = {}): Promise<Fault> =>
      (await control("POST faults", { target: "POST /v1/emails", kind, ...more })).body,
    register,
    /** Registers an endpoint for all types. */
    endpoint: (target: string) => register(target, ...allTypes),
    /** The public deliveries, oldest first. */
    events: async (query = ""): Promise<WebhookEvent[]> =>
      (await call(`GET /v1/webhook-events?limit=100${query}`)).body.data.toReversed(),
    /** Runs what is due now. */
    settle: () => sandbox.clock.advance(0),
  };
}

export interface Received {
  readonly method: string;
  /** Values of a repeated header are joined by a comma and a space. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The sandbox's time. */
  readonly at: number;
}

export interface Receiver {
  readonly url: string;
  readonly got: readonly Received[];
  /** The values of a header, one for each request; empty where it is absent. */
  readonly values: (header: string) => readonly string[];
}

export type Respond = number | readonly number[] | ((response: ServerResponse, n: number) => void);

/** A receiver on loopback: with one status, with some and then 200, or as a function responds. */
export async function receiver(
  respond: Respond = 200,
  { clock, text = "" }: { readonly clock?: Sandbox["clock"]; readonly text?: string } = {},
): Promise<Receiver> {
  const got: Received[] = [];
  const port = await listen(async (request, response) => {
    response.on("error", () => {});
    const body = await buffer(request).catch(() => undefined);
    if (!body) return;
    got.push({
      method: request.method ?? "",
      headers: request.headers as Record<string, string>,
      body,
      at: clock?.now() ?? 0,
    });
    if (typeof respond === "function") return respond(response, got.length);
    const status = typeof respond === "number" ? respond : (respond[got.length - 1] ?? 200);
    response.writeHead(status).end(text);
  });
  const values = (header: string) => got.map(({ headers }) => headers[header] ?? "");
  return { url: `http://127.0.0.1:${port}/webhooks`, got, values };
}

/** A sandbox with a receiver that is subscribed to everything. */
export async function subscribed(respond: Respond = 200, options: SandboxOptions = {}) {
  const opened = await open(options);
  const target = await receiver(respond, { clock: opened.clock });
  const { id, secret } = await opened.register(target.url, ...allTypes);
  return { ...opened, ...target, id, secret, path: `/v1/webhook-endpoints/${id}` as const };
}

/** Computes the signature without the packages of this repository. */
export const hmac = (body: Buffer | string, key: string | Buffer): string =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

/** A path for a data file, in a folder that exists until the test ends. */
export function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "sandbox-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "data.sqlite");
}
