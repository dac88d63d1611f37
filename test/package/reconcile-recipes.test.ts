import { pathToFileURL } from "node:url";
import { Octokit } from "@octokit/rest";
import { createReceiver, type Handler, type Receiver, type Scheme } from "@svc-webhooks/core";
import type { ReconcileReport } from "@svc-webhooks/core/reconcile";
import { present } from "@svc-webhooks/kit/present";
import { listen } from "@svc-webhooks/kit/servers";
import { github, resend as resendScheme, stripe as stripeScheme } from "@svc-webhooks/schemes";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { Resend } from "resend";
import { Stripe } from "stripe";
import { describe, expect, test } from "vitest";
import { codeBlocks, compileBlocks } from "./readme.js";
import { senderSecrets } from "./sender-secrets.js";

type Report = Promise<ReconcileReport>;
type Handles = (type: string) => boolean;

/** The modules that the page shows. */
interface Page {
  readonly handle: (receiver: Receiver, event: Stripe.Event) => Promise<void>;
  readonly reconcileStripe: (
    stripe: Stripe,
    receiver: Receiver,
    types: string[],
    since: Date,
  ) => Report;
  readonly reconcileGitHub: (
    octokit: Octokit,
    receiver: Receiver,
    hook: { readonly owner: string; readonly repo: string; readonly hook_id: number },
    handles: Handles,
  ) => Report;
  readonly reconcileResend: (
    resend: Resend,
    receiver: Receiver,
    webhookId: string,
    since: Date,
    handles: Handles,
  ) => Report;
}

const blocks = codeBlocks("docs/reconcile.md").filter(({ code }) =>
  /^export const reconcile\w+ =/m.test(code),
);
const { modulePath } = await compileBlocks(blocks);
const modules = await Promise.all(
  blocks.map((block) => import(pathToFileURL(modulePath(block)).href) as Promise<Page>),
);
const { handle, reconcileStripe, reconcileGitHub, reconcileResend }: Page = Object.assign(
  {},
  ...modules,
);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const nowMs = Date.now();
const since = new Date(nowMs - 6 * dayMs);
const ago = (ms: number) => new Date(nowMs - ms).toISOString();

/** A receiver of one sender, with the ids that it has handled. */
function receiving(scheme: Scheme, name: SenderName, secret: string, type: string) {
  const handled: string[] = [];
  const failing = new Set<string>();
  const handler: Handler = (_event, { deliveryId }) => {
    if (failing.delete(deliveryId)) throw new Error("The first run fails.");
    handled.push(deliveryId);
  };
  const receiver = createReceiver({ scheme, secret, on: { [type]: handler }, log: () => {} });
  /** Delivers as the sender does. Resolves with the outcome. */
  async function deliver(deliveryId: string, event: object, eventType = type) {
    const body = new TextEncoder().encode(JSON.stringify(event));
    const headers = await senders[name].sign(body, { secret, deliveryId, type: eventType });
    return receiver.receive({ method: "POST", headers, body });
  }
  return { receiver, deliver, handled, failing };
}

/** Serves the log of a sender. A function returns a body, or the status of an error. */
const serve = (
  respond: (method: string, url: URL) => Promise<number | { body: string; link?: string }>,
) =>
  listen(({ method = "", url = "", headers }, response) => {
    const send = async () => {
      const result = await respond(method, new URL(url, `http://${headers.host}`));
      const [status, { body, link = "" }] =
        typeof result === "number"
          ? [result, { body: JSON.stringify({ statusCode: result, message: "refused" }) }]
          : [200, result];
      response.writeHead(status, { "content-type": "application/json", link });
      response.end(body);
    };
    void send();
  });

/** Returns the items after one with this id. */
const after = <Item extends { readonly id: unknown }>(items: readonly Item[], id: unknown) =>
  id ? items.slice(items.findIndex((item) => String(item.id) === id) + 1) : items;

describe("the recipe for Stripe", () => {
  const event = (id: string, ageMs: number, pending_webhooks = 0, type = "invoice.paid") => ({
    id,
    object: "event",
    type,
    created: Math.floor((nowMs - ageMs) / 1_000),
    pending_webhooks,
    data: { object: { id: "in_1" } },
  });
  const done = Array.from({ length: 120 }, (_, index) => event(`evt_done_${index}`, 5 * hourMs));
  const events = [
    event("evt_young", 60_000, 1),
    event("evt_other", hourMs, 0, "charge.updated"),
    event("evt_failing", 2 * hourMs, 1),
    event("evt_missing_1", 3 * hourMs, 2),
    event("evt_lost", 4 * hourMs),
    ...done,
    event("evt_missing_2", 6 * hourMs, 1),
    event("evt_older", 7 * dayMs, 1),
  ];

  test("finds what is missing and lost, and handles what is missing", async () => {
    const secret = present(senderSecrets["STRIPE_WEBHOOK_SECRET"]);
    const { receiver, deliver, handled, failing } = receiving(
      stripeScheme(),
      "stripe",
      secret,
      "invoice.paid",
    );
    for (const one of done) await deliver(one.id, one);
    failing.add("evt_failing");
    const port = await serve(async (_method, { pathname, searchParams: query }) => {
      const [, one] = /^\/v1\/events\/(.+)/.exec(pathname) ?? [];
      if (one) return { body: JSON.stringify(events.find(({ id }) => id === one)) };
      const types = query.getAll("types[0]");
      const rest = after(
        events.filter(({ type }) => types.includes(type)),
        query.get("starting_after"),
      );
      const data = rest.slice(0, Number(query.get("limit")));
      const page = { object: "list", url: "/v1/events", data, has_more: rest.length > data.length };
      return { body: JSON.stringify(page) };
    });
    const stripe = new Stripe("sk_test_1", { host: "127.0.0.1", port, protocol: "http" });
    const compare = () => reconcileStripe(stripe, receiver, ["invoice.paid"], since);

    const first = await compare();
    expect(first).toMatchObject({ sent: 125, young: 1, done: 120, unknown: 0, redelivered: 0 });
    expect(first.missing).toEqual(["evt_failing", "evt_missing_1", "evt_missing_2"]);
    expect(first.lost).toEqual(["evt_lost"]);
    expect(first.reachedSince).toBe(true);
    expect(first.redeliverError).toMatchObject({ message: "handler_failed", status: 500 });

    const second = await compare();
    expect(second).toMatchObject({ failed: 1, missingCount: 2, redelivered: 2 });
    const missing = ["evt_missing_1", "evt_missing_2"];
    expect(handled.slice(120)).toEqual(missing);
    // Stripe's retries find the records.
    for (const id of missing) {
      const sent = present(events.find((one) => one.id === id));
      expect((await deliver(id, sent)).code).toBe("duplicate");
    }
    await handle(receiver, await stripe.events.retrieve("evt_lost"));
    expect(handled.slice(122)).toEqual(["evt_lost"]);
    expect(await compare()).toMatchObject({ done: 123, failed: 1, missingCount: 0, lostCount: 0 });
  });
});

describe("the recipe for GitHub", () => {
  test("passes the newest attempt of each delivery, and requests what is missing by its id", async () => {
    const { receiver, deliver, handled } = receiving(
      github(),
      "github",
      present(senderSecrets["GITHUB_WEBHOOK_SECRET"]),
      "issues.opened",
    );
    // GitHub's ids exceed the integers that a number represents exactly.
    let nextId = 9_007_199_254_740_993n;
    const attempt = (guid: string, ageMs: number, status_code = 200, event = "issues") => ({
      id: (nextId += 2n),
      guid,
      delivered_at: ago(ageMs),
      redelivery: false,
      status_code,
      event,
      action: event === "issues" ? "opened" : null,
    });
    // `reconcile` itself recognizes an id only among the last 1,000.
    const done = Array.from({ length: 1_100 }, (_, index) => attempt(`done-${index}`, 5 * hourMs));
    const attempts = [
      attempt("repaired", hourMs),
      attempt("ping", 2 * hourMs, 200, "ping"),
      attempt("unsorted-1", 3 * hourMs),
      attempt("unsorted-2", 3 * hourMs - 5_000),
      attempt("never", 4 * hourMs, 0),
      attempt("lost", 4 * hourMs),
      ...done,
      attempt("never", 6 * hourMs, 502),
      attempt("repaired", 7 * hourMs, 500),
      attempt("gone", 8 * hourMs, 500),
      attempt("older", 4 * dayMs, 500),
    ];
    const recorded = ["repaired", "unsorted-1", "unsorted-2", ...done.map(({ guid }) => guid)];
    const opened = { action: "opened" };
    for (const guid of recorded) await deliver(guid, opened);
    const newestOf = (guid: string) => attempts.find((one) => one.guid === guid)?.id;
    const requested: unknown[] = [];
    const port = await serve(async (method, { origin, pathname, searchParams: query }) => {
      const base = "/repos/acme/shop/hooks/1/deliveries";
      if (method === "POST") {
        const [, id] = /^\/(\d+)\/attempts$/.exec(pathname.slice(base.length)) ?? [];
        const one = attempts.find((candidate) => String(candidate.id) === id);
        requested.push(one?.id);
        if (!one || one.guid === "gone") return 422;
        const { status } = await deliver(one.guid, opened);
        attempts.unshift(attempt(one.guid, 0, status));
        return { body: "{}" };
      }
      const rest = after(attempts, query.get("cursor"));
      const page = rest.slice(0, Number(query.get("per_page")));
      const cursor = String(page.at(-1)?.id);
      return {
        // JSON has no bigint.
        body: JSON.stringify(page, (_key, value: unknown) =>
          typeof value === "bigint" ? `bigint:${value}` : value,
        ).replaceAll(/"bigint:(\d+)"/g, "$1"),
        ...(rest.length > page.length && {
          link: `<${origin}${base}?per_page=100&cursor=${cursor}>; rel="next"`,
        }),
      };
    });
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const octokit = new Octokit({ auth: "token", baseUrl: `http://127.0.0.1:${port}`, log });
    const hook = { owner: "acme", repo: "shop", hook_id: 1 };
    const compare = () => reconcileGitHub(octokit, receiver, hook, (type) => type !== "ping");

    const [never, gone] = [newestOf("never"), newestOf("gone")];
    const first = await compare();
    expect(first).toMatchObject({ sent: 1_107, done: 1_103, unknown: 1, reachedSince: true });
    expect(first).toMatchObject({ missing: ["never", "gone"], lost: ["lost"] });
    expect(first).toMatchObject({ redelivered: 1, refused: 1 });
    expect(requested).toEqual([never, gone]);
    expect(handled.slice(1_103)).toEqual(["never"]);

    const second = await compare();
    expect(second).toMatchObject({ young: 1, missing: ["gone"], lost: ["lost"] });
    expect((await deliver("never", opened)).code).toBe("duplicate");
  });
});

describe("the recipe for Resend", () => {
  test("finds what is missing and lost, and replays what is missing", async () => {
    const { receiver, deliver, handled } = receiving(
      resendScheme(),
      "resend",
      present(senderSecrets["RESEND_WEBHOOK_SECRET"]),
      "email.bounced",
    );
    const event = (id: string, ageMs: number, status: string, type = "email.bounced") => ({
      id,
      type,
      // Resend's list shows times as PostgreSQL prints them.
      created_at: ago(ageMs).replace("T", " ").replace("Z", "000+00"),
      status,
    });
    const done = Array.from({ length: 120 }, (_, index) =>
      event(`msg_done_${index}`, 50 * hourMs, "success"),
    );
    const events = [
      event("msg_retried", 20 * hourMs, "attempting"),
      event("msg_other", 30 * hourMs, "success", "email.opened"),
      event("msg_missing_1", 40 * hourMs, "failed"),
      event("msg_lost", 45 * hourMs, "success"),
      ...done,
      event("msg_missing_2", 60 * hourMs, "failed"),
      event("msg_older", 7 * dayMs, "failed"),
    ];
    const bounced = { type: "email.bounced", data: {} };
    for (const { id } of done) await deliver(id, bounced);
    let replaysLeft = 1;
    const port = await serve(async (method, { pathname, searchParams: query }) => {
      if (method === "POST") {
        const [, id = ""] = /^\/webhooks\/wh_1\/events\/(.+)\/replay$/.exec(pathname) ?? [];
        if (replaysLeft === 0) return 429;
        replaysLeft -= 1;
        const { status } = await deliver(id, bounced);
        const one = present(events.find((candidate) => candidate.id === id));
        one.status = status === 200 ? "success" : "failed";
        return { body: JSON.stringify({ object: "webhook_event", id }) };
      }
      if (pathname !== "/webhooks/wh_1/events") return 404;
      const rest = after(events, query.get("after"));
      const data = rest.slice(0, Number(query.get("limit")));
      return {
        body: JSON.stringify({ object: "list", data, has_more: rest.length > data.length }),
      };
    });
    const resend = new Resend("re_1", { baseUrl: `http://127.0.0.1:${port}` });
    const compare = (webhook = "wh_1") =>
      reconcileResend(resend, receiver, webhook, since, (type) => type === "email.bounced");

    const first = await compare();
    expect(first).toMatchObject({ sent: 125, young: 1, unknown: 1, done: 120, redelivered: 1 });
    expect(first.missing).toEqual(["msg_missing_1", "msg_missing_2"]);
    expect(first.lost).toEqual(["msg_lost"]);
    expect(first.redeliverError).toMatchObject({ status: 429 });

    replaysLeft = 1;
    const second = await compare();
    expect(second).toMatchObject({ missing: ["msg_missing_2"], redelivered: 1, done: 121 });
    expect(handled.slice(120)).toEqual(["msg_missing_1", "msg_missing_2"]);
    expect(await compare()).toMatchObject({ done: 122, missingCount: 0, lost: ["msg_lost"] });
    await expect(compare("wh_2")).rejects.toMatchObject({ status: 404 });
  });
});
