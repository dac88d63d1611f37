import { present } from "@svc-webhooks/kit/present";
import { describe, expect, test } from "vitest";
import { actionNames as names, type ActionName } from "../../src/control/actions.js";
import { formOf as formOfAction } from "../../src/inspector/forms.js";
import {
  fieldsOf,
  formOf,
  locationOf,
  openPage,
  problems,
  textOf,
  the,
  type Element,
  type Fields,
} from "./support.js";

const target = "http://localhost:3000/webhooks";

/**
 * Opens a sandbox with reproducible ids, secrets and times. It has a pending, a succeeded and a failed delivery, a
 * fault and a domain.
 */
async function story() {
  const opened = await openPage({
    seed: 7,
    clock: { mode: "manual", start: Date.parse("2026-11-22T10:00:00Z") },
  });
  const { sandbox, control, call, settle, clock } = opened;
  const statuses = [404, 500, 200, 500];
  sandbox.deliverTo(() => new Response(null, { status: statuses.shift() ?? 200 }));
  await control("POST checkpoints", { name: "start" });
  await control("POST endpoints", { url: target, event_types: ["domain.updated"] });
  await call("POST /v1/domains", { domain_name: "mail.example.test" });
  const [domain] = (await control("GET domains")).body.data;
  await control("POST assumptions/A-09", { value: "none" });
  await control(`POST domains/${domain?.domain_id}/force`, { outcome: "failed" });
  await settle();
  await control("POST assumptions/A-09", { value: "fast" });
  const endpoint = await opened.register(target, "email.sent", "email.delivered");
  await opened.send({}, { "idempotency-key": "key" });
  await settle();
  const fault = await opened.fault("reset", { target: "POST /v1/domains" });
  await clock.advance(200);
  const deliveries = await opened.deliveries();
  const inState = (state: string): string =>
    present(deliveries.find((found) => found.state === state)).id;
  return {
    ...opened,
    waiting: inState("pending"),
    succeeded: inState("succeeded"),
    failed: inState("failed"),
    endpoint: endpoint.id,
    domain: domain?.domain_id as string,
    fault: fault.id,
  };
}

type Story = Awaited<ReturnType<typeof story>>;

interface Case {
  readonly what: string;
  readonly action: ActionName;
  /** The item on whose page the form is. */
  readonly item?: (story: Story) => string;
  /** Hidden fields that distinguish the form from other forms of the same action. */
  readonly form?: (story: Story) => Fields;
  readonly changes?: Fields;
  /** Runs before the page is loaded. */
  readonly before?: (story: Story) => Promise<unknown>;
  /** The expected body of the action. */
  readonly body?: object;
  /** The kind of item that the page shows afterwards. Default: the same item as before. */
  readonly follows?: "dlv_" | "send_";
}

const waiting = ({ waiting: id }: Story) => id;
const failed = ({ failed: id }: Story) => id;

const cases: readonly Case[] = [
  {
    what: "Run now",
    action: "run-now",
    item: waiting,
  },
  { what: "Skip", action: "skip", item: waiting },
  {
    what: "Redeliver",
    action: "redeliver",
    item: failed,
  },
  {
    what: "Edit and send",
    action: "send",
    item: failed,
    form: () => ({ place: "edit" }),
    changes: { body: '{"a": 1,\r\n "b": "é & ü"}' },
    body: { body: '{"a": 1,\n "b": "é & ü"}' },
    follows: "dlv_",
  },
  {
    what: "Send copies, all at the same time",
    action: "send",
    item: failed,
    form: () => ({ place: "copies" }),
    changes: { times: "3" },
    body: { times: 3, concurrent: true },
  },
  {
    what: "Send copies, one after another",
    action: "send",
    item: failed,
    form: () => ({ place: "copies" }),
    changes: { times: "2", concurrent: undefined },
    body: { times: 2 },
  },
  {
    what: "Tamper",
    action: "send",
    item: failed,
    form: () => ({ place: "tamper" }),
    changes: { tamper: "flipped_byte" },
    body: { tamper: "flipped_byte" },
  },
  {
    what: "Send a test email",
    action: "test-email",
    form: () => ({ place: "timeline" }),
    follows: "send_",
  },
  {
    what: "Send a test email, with options",
    action: "test-email",
    form: () => ({ place: "options" }),
    changes: { to: "grace@example.test", subject: "Größe & <b>", scenario: "bounced" },
    body: { to: "grace@example.test", subject: "Größe & <b>", scenario: "bounced" },
    follows: "send_",
  },
  {
    what: "+1 s",
    action: "clock",
    form: () => ({ advance_ms: "1000" }),
    body: { advance_ms: 1_000 },
  },
  {
    what: "+1 min",
    action: "clock",
    form: () => ({ advance_ms: "60000" }),
    body: { advance_ms: 60_000 },
  },
  {
    what: "To next retry",
    action: "clock",
    form: () => ({ to: "next" }),
    body: { to: "next" },
    follows: "dlv_",
  },
  {
    what: "Mode of the clock",
    action: "clock",
    form: () => ({ place: "mode" }),
    changes: { mode: "manual" },
    body: { mode: "manual" },
  },
  {
    what: "Register",
    action: "create-endpoint",
    changes: { url: " http://localhost:3001/x ", type: ["email.sent", "domain.updated"] },
    body: {
      url: "http://localhost:3001/x",
      event_types: ["email.sent", "domain.updated"],
    },
  },
  {
    what: "Rotate secret",
    action: "rotate-secret",
    form: (s) => ({ id: s.endpoint }),
  },
  {
    what: "Archive",
    action: "archive",
    form: (s) => ({ id: s.endpoint }),
  },
  {
    what: "Verify",
    action: "verify-domain",
    form: (s) => ({ id: s.domain }),
  },
  {
    what: "Force verified",
    action: "force-domain",
    form: (s) => ({ id: s.domain, outcome: "verified" }),
    body: { outcome: "verified" },
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
    body: {
      target: "POST /v1/emails",
      kind: "status",
      times: 3,
      status: 429,
      retry_after: 7,
    },
  },
  {
    what: "Another fault, slow",
    action: "add-fault",
    form: () => ({ place: "other" }),
    changes: { target: "GET /v1/webhook-events", kind: "slow", times: "1", delay_ms: "250" },
    body: { target: "GET /v1/webhook-events", kind: "slow", times: 1, delay_ms: 250 },
  },
  {
    what: "Cancel a fault",
    action: "cancel-fault",
    form: (s) => ({ id: s.fault }),
  },
  {
    what: "Choose a word of an assumption",
    action: "set-assumption",
    form: () => ({ id: "A-14" }),
    changes: { value: "422" },
    body: { value: "422" },
  },
  {
    what: "Type the value of an assumption",
    action: "set-assumption",
    form: () => ({ id: "A-09" }),
    changes: { value: " 2s,3s " },
    body: { value: "2s,3s" },
  },
  { what: "Take a checkpoint", action: "checkpoint" },
  {
    what: "Take a checkpoint with a name",
    action: "checkpoint",
    changes: { name: "before-the-release" },
    body: { name: "before-the-release" },
  },
  { what: "Rewind", action: "rewind", item: failed },
  { what: "Start recording", action: "start-recording" },
  {
    what: "Stop recording",
    action: "stop-recording",
    before: ({ control }) => control("POST recording/start"),
    changes: { name: "my-scenario" },
    body: { name: "my-scenario" },
  },
  { what: "Reset", action: "reset", item: failed },
];

/** Returns the values that a browser sends, as a list for each field. */
function sentFields(form: Element, changes: Fields = {}): Record<string, readonly string[]> {
  const sent: Record<string, readonly string[]> = {};
  for (const [name, value] of fieldsOf(form)) sent[name] = [...(sent[name] ?? []), value];
  for (const [name, value] of Object.entries(changes)) sent[name] = [value ?? []].flat();
  return sent;
}

describe("a form of the page", () => {
  test("is tested here for each action", () => {
    const shown: readonly string[] = ["explain"];
    expect(new Set([...cases.map(({ action }) => action), ...shown])).toEqual(new Set(names));
  });

  test.each(cases)("runs its action, and shows what follows: $what", async (row) => {
    const { action, item, changes } = row;
    const opened = await story();
    await row.before?.(opened);
    const position = async () => (await opened.control("GET overview")).body;
    const before = await position();
    const page = await opened.get(item ? `/?item=${item(opened)}` : "/?state=");
    const form = formOf(page, action, row.form?.(opened));
    expect(formOfAction(action).body?.(sentFields(form, changes)) ?? {}).toEqual(row.body ?? {});
    const reply = await opened.submit(page, form, changes);
    await opened.settle();
    const { epoch, seq } = await position();
    expect([epoch, seq]).not.toEqual([before.epoch, before.seq]);

    const { done, shows } = formOfAction(action);
    let shown = reply;
    if (shows === "secret") {
      expect(reply.status).toBe(200);
      expect(textOf(the(reply.dom, "#secret .whole"))).toMatch(/^whsec_\w+$/);
    } else {
      expect(reply.status).toBe(303);
      const to = new URL(locationOf(reply));
      expect(to.searchParams.get("done")).toBe(action);
      const followed = to.searchParams.get("item");
      if (row.follows) expect(followed).toMatch(new RegExp(`^${row.follows}`));
      else
        expect(followed).toBe(
          ["reset", "rewind"].includes(action) ? null : (item?.(opened) ?? null),
        );
      if (row.follows) expect(followed).not.toBe(item?.(opened));
      shown = await opened.follow(reply);
      the(shown.dom, to.hash);
      expect(textOf(the(shown.dom, "#notice"))).toBe(done);
    }
    expect(shown.status).toBe(200);
    expect(problems(shown, names)).toEqual([]);
  });

  test("adds each fault that has a button of its own", async () => {
    const opened = await openPage();
    const { id } = await opened.endpoint("http://localhost:1/");
    const expected = [
      { target: id, kind: "status", status: 500, left: 2 },
      { target: id, kind: "response_lost", left: 1 },
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

  test.each([
    [
      { kind: "reorder", times: "3", delay_ms: "5000" },
      { left: 3, delay_ms: 5_000 },
    ],
    [{ kind: "drop", times: "1" }, { result: "failed" }],
    [{ kind: "drop", times: "1", result: "succeeded" }, { result: "succeeded" }],
    [{ kind: "mutate", times: "1" }, { sign_again: false }],
    [{ kind: "mutate", times: "1", sign_again: "on" }, { sign_again: true }],
  ])("adds a fault of an endpoint with the fields %o", async (changes, fault) => {
    const opened = await openPage();
    const { id: we } = await opened.endpoint("http://localhost:1/");
    const page = await opened.get();
    const form = formOf(page, "add-fault", { place: "other" });
    expect((await opened.submit(page, form, { ...changes, target: we })).status).toBe(303);
    const { data } = (await opened.control("GET faults")).body;
    expect(data).toMatchObject([{ target: we, kind: changes.kind, ...fault }]);
  });

  test("keeps the filter of the page", async () => {
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

  test("explains a signature with the JSON of its control route", async () => {
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
    expect(textOf(same.shown)).toContain("This signature is correct.");
    const known = await explain(present(signature).slice("sha256=".length));
    expect(known.body.verdict).toBe("known_mistake");
    expect(textOf(known.shown)).toContain(known.body.mistake.cause);
    expect(textOf(known.shown)).toContain(known.body.mistake.fix);
    const unknown = await explain("sha256=0");
    expect(unknown.body.verdict).toBe("unknown");
    expect(textOf(unknown.shown)).toContain("No match:");
    expect(textOf(unknown.shown)).toContain(unknown.body.next_step);
  });
});
