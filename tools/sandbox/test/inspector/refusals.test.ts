import { present } from "@svc-webhooks/kit/present";
import { describe, expect, test } from "vitest";
import { actionNames as names, type ActionName } from "../../src/control/actions.js";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import {
  all,
  attr,
  fieldsOf,
  formOf,
  the,
  openPage,
  problems,
  rawText,
  textOf,
  type Fields,
} from "./support.js";

/** Opens a sandbox with a pending and a succeeded delivery, a fault and a domain. */
async function story(options: SandboxOptions = {}) {
  const opened = await openPage(options);
  const statuses = [500];
  opened.sandbox.deliverTo(() => new Response(null, { status: statuses.shift() ?? 200 }));
  const { id: endpoint } = await opened.endpoint("http://localhost:3000/webhooks");
  await opened.call("POST /v1/domains", { domain_name: "mail.example.test" });
  await opened.send();
  await opened.settle();
  const fault = await opened.fault("status", { target: "POST /v1/emails" });
  const deliveries = await opened.deliveries();
  return {
    ...opened,
    endpoint,
    domain: (await opened.control("GET domains")).body.data[0]?.domain_id as string,
    fault: fault.id,
    waiting: present(deliveries.find(({ state }) => state === "pending")).id,
    succeeded: present(deliveries.find(({ state }) => state === "succeeded")).id,
  };
}

type Story = Awaited<ReturnType<typeof story>>;

interface Case {
  readonly what: string;
  readonly action: ActionName;
  readonly options?: SandboxOptions;
  readonly item?: (story: Story) => string;
  readonly form?: (story: Story) => Fields;
  readonly changes?: Fields;
  /** Runs before the page is loaded. */
  readonly before?: (story: Story) => Promise<unknown>;
  /** Runs after the page is loaded and before its form is sent. */
  readonly meanwhile?: (story: Story) => Promise<unknown>;
  readonly status: number;
  readonly text: RegExp;
  /** Set if the form no longer exists, so that the header shows the message. */
  readonly gone?: true;
}

const waiting = ({ waiting: id }: Story) => id;
const archived = ({ control, endpoint }: Story) => control(`POST endpoints/${endpoint}/archive`);
const next = (opened: Story) => opened.control("POST clock", { to: "next" });
const reset = ({ control }: Story) => control("POST reset");

const cases: readonly Case[] = [
  {
    what: "an attempt to run that was made meanwhile",
    action: "run-now",
    item: waiting,
    meanwhile: next,
    status: 409,
    text: /No attempt is scheduled/,
    gone: true,
  },
  {
    what: "an attempt to skip that was made meanwhile",
    action: "skip",
    item: waiting,
    meanwhile: next,
    status: 409,
    text: /No attempt is scheduled/,
    gone: true,
  },
  {
    what: "a redelivery that A-17 does not allow",
    action: "redeliver",
    item: ({ succeeded }) => succeeded,
    status: 409,
    text: /A-17/,
  },
  {
    what: "an edited body for an archived endpoint",
    action: "send",
    item: waiting,
    form: () => ({ place: "edit" }),
    changes: { body: "\r\n{ edited }" },
    meanwhile: archived,
    status: 409,
    text: /archived/,
  },
  {
    what: "no copies",
    action: "send",
    item: waiting,
    form: () => ({ place: "copies" }),
    changes: { times: "0", concurrent: undefined },
    status: 400,
    text: /from 1 to 100/,
  },
  {
    what: "a number that is not one",
    action: "send",
    item: waiting,
    form: () => ({ place: "copies" }),
    changes: { times: "many" },
    status: 400,
    text: /must be a number/,
  },
  {
    what: "a previous secret that does not exist",
    action: "send",
    item: waiting,
    form: () => ({ place: "tamper" }),
    changes: { tamper: "previous_secret" },
    status: 409,
    text: /Rotate the secret first/,
  },
  {
    what: "a signature that is too long",
    action: "explain",
    item: waiting,
    changes: { value: "x".repeat(10_001) },
    status: 400,
    text: /value/,
  },
  {
    what: "an address that is not one",
    action: "test-email",
    form: () => ({ place: "options" }),
    changes: { to: "nobody", subject: "Kept", scenario: "failed" },
    status: 400,
    text: /to/,
  },
  {
    what: "time after the last year",
    action: "clock",
    options: { clock: { mode: "manual", start: Date.parse("9999-12-30T23:59:30Z") } },
    form: () => ({ advance_ms: "60000" }),
    status: 400,
    text: /9999/,
  },
  {
    what: "a URL outside",
    action: "create-endpoint",
    changes: { url: "https://example.com/hooks", type: ["email.sent"] },
    status: 400,
    text: /A-21/,
  },
  {
    what: "no event type",
    action: "create-endpoint",
    changes: { url: "http://localhost:3001/kept", type: undefined },
    status: 400,
    text: /event_types/,
  },
  {
    what: "a rotation for an archived endpoint",
    action: "rotate-secret",
    meanwhile: archived,
    status: 409,
    text: /archived/,
    gone: true,
  },
  {
    what: "an endpoint to archive that was removed",
    action: "archive",
    meanwhile: reset,
    status: 404,
    text: /no such endpoint/,
    gone: true,
  },
  {
    what: "a domain to verify that was removed",
    action: "verify-domain",
    meanwhile: reset,
    status: 404,
    text: /no such domain/,
    gone: true,
  },
  {
    what: "a domain to force that was removed",
    action: "force-domain",
    meanwhile: reset,
    status: 404,
    text: /no such domain/,
    gone: true,
  },
  {
    what: "a fault that has no status",
    action: "add-fault",
    form: () => ({ place: "other" }),
    changes: {
      target: "POST /v1/emails",
      kind: "slow",
      times: "7",
      status: "200",
      retry_after: "3",
      delay_ms: "5",
    },
    status: 400,
    text: /from 300 to 599/,
  },
  {
    what: "a fault for an endpoint that was removed",
    action: "add-fault",
    form: () => ({ place: "other" }),
    meanwhile: reset,
    status: 404,
    text: /endpoint/,
  },
  {
    what: "a fault to cancel that was removed",
    action: "cancel-fault",
    meanwhile: reset,
    status: 404,
    text: /fault/,
    gone: true,
  },
  {
    what: "a value that an assumption does not have",
    action: "set-assumption",
    form: () => ({ id: "A-09" }),
    changes: { value: "sometimes" },
    status: 400,
    text: /A delay is a number followed by ms, s, m or h/,
  },
  {
    what: "a word that an assumption does not have",
    action: "set-assumption",
    form: () => ({ id: "A-14" }),
    changes: { value: "418" },
    status: 400,
    text: /409, 422/,
  },
  {
    what: "a name that a checkpoint cannot have",
    action: "checkpoint",
    changes: { name: "two words" },
    status: 400,
    text: /letters, digits, hyphens and underscores/,
  },
  {
    what: "a checkpoint to rewind to that was removed",
    action: "rewind",
    before: ({ control }) => control("POST checkpoints", {}),
    meanwhile: reset,
    status: 404,
    text: /There are no checkpoints/,
    gone: true,
  },
  {
    what: "a recording to start that was started meanwhile",
    action: "start-recording",
    meanwhile: ({ control }) => control("POST recording/start"),
    status: 409,
    text: /Stop it first/,
    gone: true,
  },
  {
    what: "a name that a scenario cannot have",
    action: "stop-recording",
    before: ({ control }) => control("POST recording/start"),
    changes: { name: "Two words" },
    status: 400,
    text: /must begin with a lower-case letter/,
  },
];

describe("a form that is refused", () => {
  test("is tested here for each action that can be", () => {
    const always: readonly string[] = ["reset"];
    expect(new Set([...cases.map(({ action }) => action), ...always])).toEqual(new Set(names));
  });

  test.each(cases)("shows the reason, and keeps what was typed: $what", async (row) => {
    const { action, item, changes = {}, status, text, gone = false } = row;
    const opened = await story(row.options);
    await row.before?.(opened);
    const address = item ? `/?item=${item(opened)}` : "/?q=";
    const page = await opened.get(address);
    const form = formOf(page, action, row.form?.(opened));
    await row.meanwhile?.(opened);
    const reply = await opened.submit(page, form, changes);

    expect(reply.status).toBe(status);
    expect(problems(reply, names)).toEqual([]);
    expect(all(reply.dom, "[role=alert]").map(textOf)).toEqual([expect.stringMatching(text)]);
    if (gone) {
      the(reply.dom, "header .refused");
      return;
    }
    const again = formOf(reply, action, row.form?.(opened) ?? idOf(form));
    the(again, ".refused");
    expect(closedAround(reply.dom, again)).toEqual([]);
    const kept = fieldsOf(again);
    for (const [name, value] of Object.entries(changes)) {
      const values = kept.filter(([key]) => key === name).map(([, one]) => one);
      // An option that does not exist cannot be selected.
      if (value !== "418") expect([name, values]).toEqual([name, [value ?? []].flat()]);
    }
    if (row.meanwhile) return;
    const others = all(reply.dom, "form[data-action]").filter((other) => other !== again);
    const before = new Map(all(page.dom, "form[data-action]").map((one) => [key(one), one]));
    for (const other of others) {
      const same = before.get(key(other));
      expect(fieldsOf(other).filter(isValue)).toEqual(same && fieldsOf(same).filter(isValue));
    }
  });

  test("keeps the first line break of an edited body", async () => {
    const opened = await story();
    const { waiting: id } = opened;
    const page = await opened.get(`/?item=${id}`);
    const body = "\n\n{}";
    const sent = await opened.submit(page, formOf(page, "send", { place: "edit" }), { body });
    const edited = await opened.follow(sent);
    expect(rawText(the(edited.dom, "#edit textarea"))).toBe(body);
  });

  test("shows a refusal of the steps once, where it belongs", async () => {
    const opened = await openPage();
    const page = await opened.get();
    const form = the(page.dom, "#detail form[data-action=create-endpoint]");
    const reply = await opened.submit(page, form, { url: "nonsense", type: ["domain.updated"] });
    expect(reply.status).toBe(400);
    expect(all(reply.dom, ".refused")).toEqual([the(reply.dom, "#detail form .refused")]);
    const fields = fieldsOf(the(reply.dom, "#detail form[data-action=create-endpoint]"));
    expect(fields.filter(isValue)).toContainEqual(["url", "nonsense"]);
    expect(fields.filter(([name]) => name === "type")).toEqual([["type", "domain.updated"]]);
  });

  test.each([
    ["no action", "do=", "application/x-www-form-urlencoded", 400],
    ["another action", "do=toString", "application/x-www-form-urlencoded", 400],
    ["another content type", "do=reset", "text/plain", 415],
    ["JSON", '{"do":"reset"}', "application/json", 415],
  ])("changes nothing without a known action: %s", async (_what, body, type, status) => {
    const opened = await story();
    const reply = await opened.load("/", {
      method: "POST",
      headers: { "content-type": type },
      body,
    });
    expect(reply.status).toBe(status);
    expect((await opened.control("GET overview")).body.counts.deliveries).toBe(2);
  });

  test("is not followed by a path that its fields name", async () => {
    const opened = await story();
    for (const id of ["../reset?", "..%2freset", "../../_sandbox/reset#", "."]) {
      const reply = await opened.post("/", [
        ["do", "archive"],
        ["id", id],
      ]);
      expect(reply.status).toBe(404);
    }
    expect((await opened.control("GET overview")).body.counts.deliveries).toBe(2);
  });
});

const isValue = ([name]: readonly [string, string]) => name !== "token";

const hidden = (form: Parameters<typeof fieldsOf>[0]) =>
  all(form, "input[type=hidden]")
    .filter((one) => attr(one, "name") !== "token")
    .map((one) => `${attr(one, "name")}=${attr(one, "value")}`);

const key = (form: Parameters<typeof fieldsOf>[0]) => hidden(form).join("&");

const idOf = (form: Parameters<typeof fieldsOf>[0]): Fields =>
  Object.fromEntries(hidden(form).map((text) => text.split("=", 2)));

/** Returns the ids of the closed `details` around an element, which hide it. */
const closedAround = (dom: Parameters<typeof all>[0], element: Parameters<typeof attr>[0]) =>
  all(dom, "details")
    .filter((one) => attr(one, "open") === undefined && all(one, "form").includes(element))
    .map((one) => attr(one, "id"));
