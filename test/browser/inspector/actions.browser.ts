import { readFileSync } from "node:fs";
import { present } from "@svc-webhooks/kit/present";
import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import { sized } from "@svc-webhooks/kit/sized";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { lineOf, open, openInspector } from "./support.js";

/** A way to operate a control: with the mouse, or with the keyboard only. */
interface Hand {
  readonly press: (control: Locator) => Promise<unknown>;
  readonly fill: (control: Locator, text: string) => Promise<unknown>;
  readonly choose: (control: Locator, value: string) => Promise<unknown>;
}

const mouse: Hand = {
  press: (control) => control.click(),
  fill: (control, text) => control.fill(text),
  choose: (control, value) => control.selectOption(value),
};

/** A limit above the number of focusable controls on the page. */
const mostStops = 300;

/** Moves the focus to a control by pressing Tab. */
async function tabTo(control: Locator): Promise<void> {
  const page = control.page();
  for (let stop = 0; stop < mostStops; stop += 1) {
    if (await control.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`The Tab key does not reach ${control.toString()}.`);
}

const keyboard: Hand = {
  async press(control) {
    await tabTo(control);
    const isBox = await control.evaluate((element) => element.matches("[type=checkbox]"));
    await control.page().keyboard.press(isBox ? "Space" : "Enter");
  },
  async fill(control, text) {
    await tabTo(control);
    await control.page().keyboard.press("ControlOrMeta+A");
    await control.page().keyboard.insertText(text);
  },
  async choose(control, value) {
    await tabTo(control);
    await control.page().keyboard.press("Home");
    while ((await control.inputValue()) !== value) {
      const before = await control.inputValue();
      await control.page().keyboard.press("ArrowDown");
      if ((await control.inputValue()) === before) throw new Error(`There is no ${value}.`);
    }
  },
};

const ways = [
  { what: "with the mouse", hand: mouse, javaScriptEnabled: true },
  { what: "with the keyboard", hand: keyboard, javaScriptEnabled: true },
  { what: "without JavaScript", hand: mouse, javaScriptEnabled: false },
] as const;

/**
 * Opens a sandbox with the same ids and times on every call. It has a pending delivery, one that succeeded, a fault and
 * a domain.
 */
async function story() {
  const start = Date.parse("2026-11-22T10:00:00Z");
  const opened = await open({ seed: 7, clock: { mode: "manual", start } });
  const { sandbox, call, register, send } = opened;
  const statuses = [500];
  sandbox.deliverTo(() => new Response(null, { status: statuses.shift() ?? 200 }));
  const { id: endpoint } = await register("http://localhost:3000/webhooks");
  await call("POST /v1/domains", { domain_name: "mail.example.test" });
  await send();
  await sandbox.clock.advance(0);
  await call("POST checkpoints", { name: "start" });
  const fault = await call("POST faults", { target: "POST /v1/domains", kind: "reset" });
  const deliveries = await opened.deliveries();
  const inState = (state: string): string =>
    present(deliveries.find((one) => one.state === state)).id;
  return {
    ...opened,
    endpoint,
    fault: fault.id,
    waiting: inState("pending"),
    succeeded: inState("succeeded"),
  };
}

type Story = Awaited<ReturnType<typeof story>>;
type Step = (page: Page, hand: Hand) => Promise<unknown>;

const button = (page: Page, name: string) => page.getByRole("button", { name });
const form = (page: Page, name: string) => page.getByRole("form", { name });

const press =
  (name: string): Step =>
  (page, hand) =>
    hand.press(button(page, name));

const pressIn =
  (place: string, name: string): Step =>
  (page, hand) =>
    hand.press(page.locator(place).getByRole("button", { name, exact: true }));

const unfold =
  (id: string): Step =>
  (page, hand) =>
    hand.press(page.locator(`#${id} > summary`));

interface Case {
  readonly what: string;
  readonly item?: "waiting" | "succeeded";
  readonly steps: readonly Step[];
  /** The fields that the form submits, without ids and tokens. */
  readonly fields: Readonly<Record<string, string>>;
}

const cases: readonly Case[] = [
  { what: "Run now", item: "waiting", steps: [press("Run now")], fields: { do: "run-now" } },
  { what: "Skip", item: "waiting", steps: [press("Skip")], fields: { do: "skip" } },
  {
    what: "Redeliver",
    item: "waiting",
    steps: [press("Redeliver")],
    fields: { do: "redeliver" },
  },
  {
    what: "Edit and send",
    item: "succeeded",
    steps: [
      unfold("edit"),
      (page, hand) => hand.fill(form(page, "Edit and send").locator("textarea"), '{"a": 1}'),
      press("Send the edited body"),
    ],
    fields: { do: "send", body: '{"a": 1}' },
  },
  {
    what: "Send copies",
    item: "succeeded",
    steps: [
      unfold("copies"),
      (page, hand) => hand.fill(page.locator("#copies [name=times]"), "3"),
      (page, hand) => hand.press(page.getByLabel("all at the same time")),
      press("Send the copies"),
    ],
    fields: { do: "send", times: "3" },
  },
  {
    what: "Tamper",
    item: "succeeded",
    steps: [
      unfold("tamper"),
      (page, hand) => hand.choose(page.getByLabel("Choose what to break"), "missing_prefix"),
      press("Send it tampered"),
    ],
    fields: { do: "send", tamper: "missing_prefix" },
  },
  {
    what: "Explain",
    item: "succeeded",
    steps: [
      unfold("signature-parts"),
      (page, hand) => hand.fill(page.getByLabel("Paste the signature"), "sha256=00"),
      press("Explain"),
    ],
    fields: { do: "explain", n: "1", value: "sha256=00" },
  },
  {
    what: "Send a test email",
    steps: [pressIn("#test-email", "Send a test email")],
    fields: { do: "test-email" },
  },
  {
    what: "Send a test email with options",
    steps: [
      unfold("test-email-options"),
      (page, hand) => hand.fill(page.getByRole("textbox", { name: "Subject" }), "Größe & <b>"),
      (page, hand) => hand.choose(page.getByLabel("What happens to it"), "bounced"),
      press("Send it"),
    ],
    fields: { do: "test-email", to: "", subject: "Größe & <b>", scenario: "bounced" },
  },
  { what: "+1 s", steps: [press("+1 s")], fields: { do: "clock", advance_ms: "1000" } },
  { what: "+1 min", steps: [press("+1 min")], fields: { do: "clock", advance_ms: "60000" } },
  {
    what: "To next retry",
    steps: [press("To next retry")],
    fields: { do: "clock", to: "next" },
  },
  {
    what: "Mode of the clock",
    steps: [
      unfold("clock-mode"),
      (page, hand) => hand.choose(page.getByLabel("Mode", { exact: true }), "accelerated"),
      pressIn("#clock-mode", "Set"),
    ],
    fields: { do: "clock", mode: "accelerated" },
  },
  {
    what: "Register",
    steps: [
      unfold("endpoint-form"),
      (page, hand) =>
        hand.fill(form(page, "New endpoint").getByRole("textbox"), "http://localhost:3001/x"),
      (page, hand) => hand.press(form(page, "New endpoint").getByLabel("email.sent")),
      (page, hand) => hand.press(form(page, "New endpoint").getByLabel("email.delivered")),
      pressIn("#endpoint-form", "Register"),
    ],
    fields: { do: "create-endpoint", url: "http://localhost:3001/x", type: "domain.updated" },
  },
  { what: "Rotate secret", steps: [press("Rotate secret")], fields: { do: "rotate-secret" } },
  { what: "Archive", steps: [press("Archive")], fields: { do: "archive" } },
  { what: "Verify", steps: [press("Verify")], fields: { do: "verify-domain" } },
  {
    what: "Force failed",
    steps: [press("Force failed")],
    fields: { do: "force-domain", outcome: "failed" },
  },
  { what: "Cancel a fault", steps: [press("Cancel")], fields: { do: "cancel-fault" } },
  {
    what: "Another fault",
    steps: [
      unfold("new-fault"),
      (page, hand) => hand.choose(page.getByLabel("Where"), "POST /v1/emails"),
      (page, hand) => hand.choose(page.locator("#new-fault [name=kind]"), "slow"),
      (page, hand) => hand.fill(page.getByLabel("How often"), "3"),
      (page, hand) => hand.fill(page.getByLabel("Delay, ms"), "250"),
      pressIn("#new-fault", "Add"),
    ],
    fields: {
      do: "add-fault",
      target: "POST /v1/emails",
      kind: "slow",
      times: "3",
      status: "",
      retry_after: "",
      delay_ms: "250",
      result: "",
      sign_again: "",
    },
  },
  {
    what: "Choose a word of an assumption",
    steps: [
      unfold("all-assumptions"),
      unfold("set-A-14"),
      (page, hand) => hand.choose(page.getByLabel("Value of A-14"), "422"),
      pressIn("#set-A-14", "Set"),
    ],
    fields: { do: "set-assumption", value: "422" },
  },
  {
    what: "Type the value of an assumption",
    steps: [
      unfold("behind"),
      unfold("set-A-09"),
      (page, hand) => hand.fill(page.getByLabel("Value of A-09"), "2s,3s"),
      pressIn("#set-A-09", "Set"),
    ],
    fields: { do: "set-assumption", value: "2s,3s" },
  },
  {
    what: "Take a checkpoint",
    steps: [
      (page, hand) => hand.fill(page.getByLabel("Name of the checkpoint"), "before-lunch"),
      press("Take a checkpoint"),
    ],
    fields: { do: "checkpoint", name: "before-lunch" },
  },
  { what: "Rewind", steps: [press("Rewind")], fields: { do: "rewind", name: "start" } },
  {
    what: "Start recording",
    steps: [press("Start recording")],
    fields: { do: "start-recording" },
  },
  {
    what: "Reset",
    steps: [unfold("reset"), press("Remove everything")],
    fields: { do: "reset" },
  },
];

/** Hidden fields that identify the form's target. */
const fixed = new Set(["id", "place", "token"]);

/** Performs a case's steps on a new page. Returns what was submitted and what the page shows afterwards. */
async function act({ item, steps }: Case, { hand, javaScriptEnabled }: (typeof ways)[number]) {
  const opened = await story();
  const address = item ? `/?item=${opened[item]}` : "/";
  const page = await openInspector(opened, address, { javaScriptEnabled });
  const posted = page.waitForRequest((request) => request.method() === "POST");
  // If a step fails, its error is the one to report.
  posted.catch(() => {});
  for (const step of steps) await step(page, hand);
  const sent = new URLSearchParams((await posted).postData() ?? "");
  await page.locator("#notice:not([hidden]), #secret, [data-mistake]").first().waitFor();
  const fields = Object.fromEntries(Array.from(sent).filter(([name]) => !fixed.has(name)));
  const { searchParams } = new URL(page.url());
  return {
    fields,
    id: sent.get("id"),
    shows: searchParams.get("item"),
    words: await lineOf(
      page.locator("#notice:not([hidden]), #secret .whole, [data-mistake] b").first(),
    ),
    state: await stateOf(opened),
  };
}

/** Returns all state that the actions can change. */
async function stateOf({ call }: Story) {
  const lists = ["timeline", "endpoints", "domains", "faults", "checkpoints"];
  const all = await Promise.all(lists.map((name) => call(`GET ${name}`)));
  const { data: assumptions } = await call("GET assumptions");
  const { mode, offset_ms: offset } = await call("GET clock");
  // Real durations and this client's keys differ between runs.
  const text = JSON.stringify(all, (key, value: unknown) =>
    key === "ms" || key === "idempotency_key" ? undefined : value,
  );
  const chosen = assumptions.filter((one) => one.value !== one.default);
  // If the clock runs, its times differ too.
  return { lists: mode === "manual" ? JSON.parse(text) : undefined, mode, offset, chosen };
}

describeWithBrowser("an action of the page", () => {
  test.each(cases)("has the same effect in all ways: $what", async (row) => {
    const [first, second, third] = ways;
    // One of the other ways is enough for each action, and half of the actions test each way.
    const others = sized(cases.indexOf(row) % 2 === 0 ? [second] : [third], [second, third]);
    const expected = await act(row, first);
    expect(expected.fields).toEqual(row.fields);
    for (const way of others)
      expect({ way: way.what, ...(await act(row, way)) }).toEqual({ way: way.what, ...expected });
  });

  test.each(ways)("records a scenario and downloads its file $what", async (way) => {
    const { hand, javaScriptEnabled } = way;
    const opened = await open();
    opened.sandbox.deliverTo(() => new Response());
    await opened.register("http://localhost:3000/webhooks");
    const page = await openInspector(opened, "/", { javaScriptEnabled });
    await press("Start recording")(page, hand);
    await page.getByLabel("Name of the scenario").waitFor();
    await pressIn("#test-email", "Send a test email")(page, hand);
    await page.locator("#notice:not([hidden])", { hasText: "The email was accepted." }).waitFor();
    await hand.fill(page.getByLabel("Name of the scenario"), "my-receiver");
    await press("Stop recording")(page, hand);
    const link = page.getByRole("link", { name: "Download my-receiver.json" });
    await link.waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), hand.press(link)]);
    expect(download.suggestedFilename()).toBe("my-receiver.json");
    const file = JSON.parse(readFileSync(await download.path(), "utf8")) as {
      readonly steps: readonly object[];
    };
    expect(file.steps.slice(0, 2)).toMatchObject([
      { request: { path: "/v1/webhook-endpoints", body: { url: "{receiver}" } } },
      { action: "test-email" },
    ]);
  });
});
