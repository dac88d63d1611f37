import { describe, expect, it } from "vitest";
import { pageActions, type ActionName } from "../../src/inspector/actions.js";
import type { Json } from "../support.js";
import { formOf, locationOf, openPage, problems, textOf, the, type Fields } from "./support.js";

const names = Object.keys(pageActions);

const target = "http://localhost:3000/webhooks";

/**
 * A sandbox whose ids, secrets and times are those of every other one: a delivery that waits, one that
 * succeeded, one that failed, a fault and a domain.
 */
async function story() {
  const opened = await openPage({
    seed: 7,
    clock: { mode: "manual", start: Date.parse("2026-11-22T10:00:00Z") },
  });
  const { sandbox, control, call, settle, clock } = opened;
  const statuses = [404, 500, 200, 500];
  sandbox.deliverTo(() => new Response(null, { status: statuses.shift() ?? 200 }));
  await control("POST endpoints", { url: target, event_types: ["domain.updated"] });
  await call("POST /v1/domains", { domain_name: "mail.example.test" });
  const [domain] = (await control("GET domains")).body.data;
  await control("POST assumptions/A-09", { value: "none" });
  await control(`POST domains/${domain.domain_id}/force`, { outcome: "failed" });
  await settle();
  await control("POST assumptions/A-09", { value: "fast" });
  const endpoint = await opened.register(target, "email.sent", "email.delivered");
  await opened.send({}, { "idempotency-key": "key" });
  await settle();
  const fault = await opened.fault("reset", { target: "POST /v1/domains" });
  await clock.advance(200);
  const deliveries = await opened.deliveries();
  const inState = (state: string): string => deliveries.find((found) => found.state === state).id;
  return {
    ...opened,
    waiting: inState("pending"),
    succeeded: inState("succeeded"),
    failed: inState("failed"),
    endpoint: endpoint.id,
    domain: domain.domain_id as string,
    fault: fault.id as string,
  };
}

type Story = Awaited<ReturnType<typeof story>>;

/** Everything that the control routes show, without what differs between two runs. */
async function stateOf({ url, control }: Story): Promise<Json> {
  const read = async (path: string) => (await control(`GET ${path}`)).body;
  const calls = (await read("timeline?limit=100")).data as Json[];
  const events = calls.flatMap((call) => call.events as Json[]);
  const deliveries = events.flatMap((event) => event.deliveries as Json[]);
  const lists = ["overview", "clock", "endpoints", "domains", "faults", "assumptions"];
  const paths = [
    ...lists,
    ...calls.map(({ id }) => `calls/${id}`),
    ...calls.flatMap(({ send }) => (send ? [`sends/${send.id}`] : [])),
    ...events.map(({ id }) => `events/${id}`),
    ...deliveries.map(({ id }) => `deliveries/${id}`),
    ...deliveries.flatMap(({ id, attempts }) =>
      attempts.map(({ n }: Json) => `deliveries/${id}/attempts/${n}`),
    ),
  ];
  const all = await Promise.all(paths.map(async (path) => [path, await read(path)] as const));
  const text = JSON.stringify(Object.fromEntries(all), (key, value: Json) => {
    // The position of the stream, real milliseconds, and the headers of this client.
    if (["epoch", "seq", "ms"].includes(key)) return undefined;
    if (key === "request" && value.url === undefined) return value.body;
    return value;
  });
  return JSON.parse(text.replaceAll(url, "http://sandbox"));
}

interface Case {
  readonly what: string;
  readonly action: ActionName;
  /** The item of the page that has the form. */
  readonly item?: (story: Story) => string;
  /** Hidden fields that distinguish the form from others of its action. */
  readonly form?: (story: Story) => Fields;
  readonly changes?: Fields;
  readonly route: (story: Story) => string;
  readonly body?: (story: Story) => object;
  /** The item of the page afterwards. Default: as before. */
  readonly follows?: (result: Json) => string;
}

const waiting = ({ waiting: id }: Story) => id;
const failed = ({ failed: id }: Story) => id;

const cases: readonly Case[] = [
  {
    what: "Run now",
    action: "run-now",
    item: waiting,
    route: (s) => `deliveries/${s.waiting}/run-now`,
  },
  { what: "Skip", action: "skip", item: waiting, route: (s) => `deliveries/${s.waiting}/skip` },
  {
    what: "Redeliver",
    action: "redeliver",
    item: failed,
    route: (s) => `deliveries/${s.failed}/redeliver`,
  },
  {
    what: "Edit and send",
    action: "send",
    item: failed,
    form: () => ({ place: "edit" }),
    changes: { body: '{"a": 1,\r\n "b": "é & ü"}' },
    route: (s) => `deliveries/${s.failed}/send`,
    body: () => ({ body: '{"a": 1,\n "b": "é & ü"}' }),
    follows: ({ delivery }) => delivery.id,
  },
  {
    what: "Send copies, all at the same time",
    action: "send",
    item: failed,
    form: () => ({ place: "copies" }),
    changes: { times: "3" },
    route: (s) => `deliveries/${s.failed}/send`,
    body: () => ({ times: 3, at_once: true }),
  },
  {
    what: "Send copies, one after another",
    action: "send",
    item: failed,
    form: () => ({ place: "copies" }),
    changes: { times: "2", at_once: undefined },
    route: (s) => `deliveries/${s.failed}/send`,
    body: () => ({ times: 2 }),
  },
  {
    what: "Tamper",
    action: "send",
    item: failed,
    form: () => ({ place: "tamper" }),
    changes: { tamper: "flipped_byte" },
    route: (s) => `deliveries/${s.failed}/send`,
    body: () => ({ tamper: "flipped_byte" }),
  },
  {
    what: "Send a test email",
    action: "test-email",
    form: () => ({ place: "timeline" }),
    route: () => "test-email",
    follows: ({ send_id: id }) => id,
  },
  {
    what: "Send a test email, with options",
    action: "test-email",
    form: () => ({ place: "options" }),
    changes: { to: "grace@example.test", subject: "Größe & <b>", scenario: "bounced" },
    route: () => "test-email",
    body: () => ({ to: "grace@example.test", subject: "Größe & <b>", scenario: "bounced" }),
    follows: ({ send_id: id }) => id,
  },
  {
    what: "+1 s",
    action: "clock",
    form: () => ({ advance_ms: "1000" }),
    route: () => "clock",
    body: () => ({ advance_ms: 1_000 }),
  },
  {
    what: "+1 min",
    action: "clock",
    form: () => ({ advance_ms: "60000" }),
    route: () => "clock",
    body: () => ({ advance_ms: 60_000 }),
  },
  {
    what: "To next retry",
    action: "clock",
    form: () => ({ to: "next" }),
    route: () => "clock",
    body: () => ({ to: "next" }),
    follows: ({ item }) => item.id,
  },
  {
    what: "Mode of the clock",
    action: "clock",
    form: () => ({ place: "mode" }),
    changes: { mode: "manual" },
    route: () => "clock",
    body: () => ({ mode: "manual" }),
  },
  {
    what: "Register",
    action: "create-endpoint",
    changes: { url: " http://localhost:3001/x ", type: ["email.sent", "domain.updated"] },
    route: () => "endpoints",
    body: () => ({
      url: "http://localhost:3001/x",
      event_types: ["email.sent", "domain.updated"],
    }),
  },
  {
    what: "Rotate secret",
    action: "rotate-secret",
    form: (s) => ({ id: s.endpoint }),
    route: (s) => `endpoints/${s.endpoint}/rotate-secret`,
  },
  {
    what: "Archive",
    action: "archive",
    form: (s) => ({ id: s.endpoint }),
    route: (s) => `endpoints/${s.endpoint}/archive`,
  },
  {
    what: "Verify",
    action: "verify-domain",
    form: (s) => ({ id: s.domain }),
    route: (s) => `domains/${s.domain}/verify`,
  },
  {
    what: "Force verified",
    action: "force-domain",
    form: (s) => ({ id: s.domain, outcome: "verified" }),
    route: (s) => `domains/${s.domain}/force`,
    body: () => ({ outcome: "verified" }),
  },
  {
    what: "Another fault",
    action: "add-fault",
    form: () => ({ place: "other" }),
    changes: {
      target: "POST /v1/emails",
      kind: "status",
      times: "3",
      status: "429",
      retry_after: "7",
    },
    route: () => "faults",
    body: () => ({
      target: "POST /v1/emails",
      kind: "status",
      times: 3,
      status: 429,
      retry_after: 7,
    }),
  },
  {
    what: "Another fault, slow",
    action: "add-fault",
    form: () => ({ place: "other" }),
    changes: { target: "GET /v1/webhook-events", kind: "slow", times: "1", delay_ms: "250" },
    route: () => "faults",
    body: () => ({ target: "GET /v1/webhook-events", kind: "slow", times: 1, delay_ms: 250 }),
  },
  {
    what: "Cancel a fault",
    action: "cancel-fault",
    form: (s) => ({ id: s.fault }),
    route: (s) => `faults/${s.fault}/cancel`,
  },
  {
    what: "Choose a word of an assumption",
    action: "set-assumption",
    form: () => ({ id: "A-14" }),
    changes: { value: "422" },
    route: () => "assumptions/A-14",
    body: () => ({ value: "422" }),
  },
  {
    what: "Type the value of an assumption",
    action: "set-assumption",
    form: () => ({ id: "A-09" }),
    changes: { value: " 2s,3s " },
    route: () => "assumptions/A-09",
    body: () => ({ value: "2s,3s" }),
  },
  { what: "Reset", action: "reset", item: failed, route: () => "reset" },
];

/** Sends the form of a case in a page that shows its item. */
async function act(opened: Story, { action, item, form, changes }: Case) {
  const address = item ? `/?item=${item(opened)}` : "/?state=";
  const page = await opened.get(address);
  return opened.submit(page, formOf(page, action, form?.(opened)), changes);
}

describe("a form of the page", () => {
  it("is tested here for each action", () => {
    const shown: readonly string[] = ["explain"];
    expect(new Set([...cases.map(({ action }) => action), ...shown])).toEqual(new Set(names));
  });

  it.each(cases)("has the effect of its control route: $what", async (row) => {
    const [page, json] = await Promise.all([story(), story()]);
    const before = await stateOf(page);
    expect(before).toEqual(await stateOf(json));
    const reply = await act(page, row);
    const { status, body } = await json.control(`POST ${row.route(json)}`, row.body?.(json) ?? {});
    expect(status).toBeLessThan(300);
    await Promise.all([page.settle(), json.settle()]);
    const after = await stateOf(page);
    expect(after).toEqual(await stateOf(json));
    if (row.changes?.["mode"] === undefined) expect(after).not.toEqual(before);

    const { done, shows } = { shows: undefined, ...pageActions[row.action] };
    let shown = reply;
    if (shows === "secret") {
      expect(reply.status).toBe(200);
      expect(textOf(the(reply.dom, "#secret .whole"))).toBe(body.secret);
    } else {
      expect(reply.status).toBe(303);
      const to = new URL(locationOf(reply));
      expect(to.searchParams.get("done")).toBe(row.action);
      const item = row.follows?.(body) ?? row.item?.(page) ?? null;
      expect(to.searchParams.get("item")).toBe(row.action === "reset" ? null : item);
      shown = await page.follow(reply);
      the(shown.dom, to.hash);
      expect(textOf(the(shown.dom, "#notice"))).toBe(done);
    }
    expect(shown.status).toBe(200);
    expect(problems(shown, names)).toEqual([]);
  });

  it("adds each fault that has a button of its own", async () => {
    const opened = await openPage();
    const { id } = await opened.endpoint("http://localhost:1/");
    const expected = [
      { target: id, kind: "status", status: 500, left: 2 },
      { target: id, kind: "answer_lost", left: 1 },
      { target: id, kind: "timeout", left: 1 },
      { target: "POST /v1/emails", kind: "status", status: 429, retry_after: 2, left: 1 },
    ];
    for (const fault of expected) {
      await opened.control("POST reset");
      const { id: current } = await opened.endpoint("http://localhost:1/");
      const page = await opened.get();
      const { kind } = fault;
      const fixed =
        fault.target === id ? { target: current, kind } : { target: fault.target, kind };
      expect((await opened.submit(page, formOf(page, "add-fault", fixed))).status).toBe(303);
      const { data } = (await opened.control("GET faults")).body;
      expect(data).toMatchObject([{ ...fault, target: fixed.target }]);
    }
  });

  it("keeps the filter of the page", async () => {
    const opened = await story();
    const page = await opened.get("/?state=failed&q=mail&refresh=30");
    const reply = await opened.submit(page, formOf(page, "clock", { advance_ms: "1000" }));
    const { searchParams } = new URL(locationOf(reply));
    expect(Object.fromEntries(searchParams)).toMatchObject({
      state: "failed",
      q: "mail",
      refresh: "30",
    });
  });

  it("explains a signature with the JSON of its control route", async () => {
    const opened = await story();
    const { failed: id } = opened;
    const { request } = (await opened.control(`GET deliveries/${id}/attempts/1`)).body;
    const { "X-SVC-Signature": signature } = Object.fromEntries(request.headers);
    const explain = async (value: string) => {
      const page = await opened.get(`/?item=${id}`);
      const reply = await opened.submit(page, formOf(page, "explain"), { value });
      const { body } = await opened.control(`POST deliveries/${id}/attempts/1/explain`, {
        value: value.trim(),
      });
      expect(reply.status).toBe(200);
      expect(problems(reply, names)).toEqual([]);
      return { body, shown: the(reply.dom, "#signature [role=status]"), reply };
    };
    const same = await explain(` ${signature} `);
    expect(same.body.verdict).toBe("same");
    expect(textOf(same.shown)).toContain("It is the right signature.");
    const known = await explain(signature.slice("sha256=".length));
    expect(known.body.verdict).toBe("known_mistake");
    expect(textOf(known.shown)).toContain(known.body.mistake.text);
    expect(textOf(known.shown)).toContain(known.body.mistake.remedy);
    const unknown = await explain("sha256=0");
    expect(unknown.body.verdict).toBe("unknown");
    expect(textOf(unknown.shown)).toContain("The mistake is unknown.");
    expect(textOf(unknown.shown)).toContain(unknown.body.next_step);
  });
});
