import { describe, expect, test } from "vitest";
import { until } from "@svc-webhooks/kit/until";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { actionNames as names } from "../../src/control/actions.js";
import type { FindingCode } from "../../src/read/findings/finding.js";
import { impatient, receiver, type Respond } from "../support.js";
import {
  all,
  attr,
  fieldsOf,
  mismatch,
  openPage,
  problems,
  textOf,
  the,
  type Fields,
} from "./support.js";

type Opened = Awaited<ReturnType<typeof openPage>>;

interface Case {
  readonly what?: string;
  readonly options?: SandboxOptions;
  readonly provoke: (sandbox: Opened) => Promise<unknown>;
  /** The page that shows the finding. Default: the page without parameters. */
  readonly at?: string;
  readonly link: RegExp;
  /** The action of the fix's form, which is where the link leads, and the values to fill in. */
  readonly form?: string;
  readonly fill?: Fields;
  /** The text that must be where the link leads. */
  readonly shows?: RegExp;
}

const sendOne = async ({ send, settle }: Opened) => {
  await send();
  await settle();
};

const sendTo = async (sandbox: Opened, url: string) => {
  await sandbox.endpoint(url);
  await sendOne(sandbox);
};

/** Returns a function that sends one email to a receiver that responds in this way. */
const refusing =
  (respond: Respond, text = "") =>
  async (sandbox: Opened) =>
    sendTo(sandbox, (await receiver(respond, { text })).url);

const newEndpoint = { link: /^#new-endpoint$/, form: "create-endpoint" };
const attempt = /^\/\?item=dlv_\w+&attempt=1#response$/;

const cases: Readonly<Record<FindingCode | "page_filtered", readonly Case[]>> = {
  no_endpoint: [{ ...newEndpoint, provoke: sendOne }],
  type_not_subscribed: [
    {
      ...newEndpoint,
      provoke: async (sandbox) => {
        await sandbox.register("http://localhost:1/", "domain.updated");
        await sendOne(sandbox);
      },
    },
  ],
  all_archived: [
    {
      ...newEndpoint,
      provoke: async (sandbox) => {
        const { id } = await sandbox.endpoint("http://localhost:1/");
        await sandbox.control(`POST endpoints/${id}/archive`);
        await sendOne(sandbox);
      },
    },
  ],
  url_refused: [
    {
      ...newEndpoint,
      fill: { url: "https://93.184.216.34/" },
      provoke: async (sandbox) => {
        await sandbox.endpoint((await receiver()).url);
        await sandbox.control("POST assumptions/A-21", { value: "strict" });
        await sendOne(sandbox);
      },
    },
  ],
  not_emitted: [
    {
      provoke: async (sandbox) => {
        await sandbox.control("POST assumptions/A-04", { value: "none" });
        await sendOne(sandbox);
      },
      link: /^#A-04$/,
      form: "set-assumption",
      fill: { value: "named" },
    },
    {
      what: "a type that A-03 lacks",
      provoke: async (sandbox) => {
        await sandbox.send({ to: ["bounced@grace.test"] });
        await sandbox.settle();
      },
      link: /^#A-03$/,
      form: "set-assumption",
      fill: { value: "extra:email.bounced" },
    },
  ],
  fault_waiting: [
    {
      what: "for an operation",
      provoke: (sandbox) => sandbox.fault("reset"),
      link: /^#faults$/,
      form: "cancel-fault",
    },
    {
      what: "for an endpoint",
      provoke: async (sandbox) => {
        const { id: target } = await sandbox.endpoint("http://localhost:1/");
        await sandbox.fault("timeout", { target, times: 3 });
      },
      link: /^#faults$/,
      form: "cancel-fault",
    },
  ],
  receiver_refused_connection: [
    {
      what: "with a retry",
      provoke: (sandbox) => sendTo(sandbox, "http://127.0.0.1:1/"),
      link: /^\/\?item=dlv_\w+#detail$/,
      form: "run-now",
    },
    {
      what: "without one",
      options: { assumptions: { "A-09": "none" } },
      provoke: (sandbox) => sendTo(sandbox, "http://127.0.0.1:1/"),
      link: /^\/\?item=dlv_\w+#detail$/,
      form: "redeliver",
    },
  ],
  receiver_responds_4xx: [
    {
      what: "401",
      provoke: refusing(401, mismatch),
      link: /^\/\?item=dlv_\w+&attempt=1#signature$/,
      form: "explain",
      fill: { value: "sha256=0" },
      shows: /A receiver that refuses a correctly signed request/,
    },
    {
      what: "404",
      provoke: refusing(404, "No such path."),
      link: attempt,
      shows: /HTTP 404 in .+No such path\./,
    },
  ],
  url_registered_twice: [
    {
      provoke: async (sandbox) => {
        const { url } = await receiver(401, { text: mismatch });
        await sandbox.endpoint(url);
        await sendTo(sandbox, url);
      },
      link: /^#endpoints$/,
      form: "archive",
    },
  ],
  receiver_ignores: [
    {
      provoke: refusing(200, '{"status":"ignored"}'),
      link: attempt,
      shows: /HTTP 200 in .+ignored/,
    },
  ],
  receiver_responds_5xx: [
    {
      what: "a known code",
      provoke: refusing(503, '{"error":{"code":"store_unavailable"}}'),
      link: attempt,
      shows: /HTTP 503 in .+The store failed or did not respond in time, so no handler ran\./,
    },
    {
      what: "another one",
      provoke: refusing(500, "TypeError: x is undefined"),
      link: attempt,
      shows: /HTTP 500 in .+TypeError: x is undefined/,
    },
  ],
  receiver_redirects: [
    {
      provoke: refusing((response) => response.writeHead(308, { location: "/webhooks/" }).end()),
      link: attempt,
      shows: /HTTP 308 in .+Redirects are not followed \(A-10\)\..*location\/webhooks\//,
    },
  ],
  receiver_fails: [
    {
      what: "reset",
      provoke: refusing((response) => response.destroy()),
      link: attempt,
      shows: /Reset\. The connection was closed/,
    },
    {
      what: "not HTTP",
      provoke: refusing((response) => response.socket?.end("SSH-2.0\r\n")),
      link: attempt,
      shows: /Not HTTP\. The response is not valid HTTP/,
    },
    {
      what: "TLS",
      provoke: async (sandbox) =>
        sendTo(sandbox, (await receiver()).url.replace("http:", "https:")),
      link: attempt,
      shows: /TLS failed\. /,
    },
    {
      what: "another 2xx",
      options: { assumptions: { "A-10": "only200" } },
      provoke: refusing(204),
      link: attempt,
      shows: /HTTP 204 in/,
    },
  ],
  receiver_slow: [
    {
      what: "too slow",
      options: { clock: impatient, assumptions: { "A-10": "timeout:1s" } },
      provoke: async (sandbox) => {
        sandbox.sandbox.deliverTo(() => new Promise<Response>(() => {}));
        await sendTo(sandbox, "http://127.0.0.1:1/");
        await sandbox.clock.advance(1_000);
      },
      link: /^#A-10$/,
      form: "set-assumption",
      fill: { value: "timeout:60s" },
    },
  ],
  relay_failed: [
    {
      options: { smtp: "smtp://127.0.0.1:1" },
      provoke: async (sandbox) => {
        await sendOne(sandbox);
        const health = async () => (await sandbox.control("GET overview")).text;
        await until(async () => (await health()).includes("relay_failed"), "the relay fails");
      },
      link: /^#test-email$/,
      form: "test-email",
    },
  ],
  clock_stands_still: [
    { provoke: refusing([500, 500]), link: /^#clock$/, form: "clock", shows: /To next retry/ },
  ],
  waiting: [
    {
      provoke: async (sandbox) => {
        await refusing([500, 500])(sandbox);
        await sandbox.control("POST clock", { mode: "real" });
      },
      link: /^#clock$/,
      form: "clock",
      shows: /To next retry/,
    },
  ],
  call_rejected: [
    {
      provoke: ({ send }) => send({ subject: "" }),
      link: /^\/\?item=call_\w+#detail$/,
      shows: /400.+The sandbox's response.+subject must not be empty/,
    },
  ],
  wrong_base_url: [
    {
      what: "only reads",
      provoke: ({ call }) => call("GET /v1/webhook-events"),
      link: /^#base-url$/,
      shows: /^Base URL ?http:\/\/127\.0\.0\.1:\d+$/,
    },
    {
      what: "another path",
      provoke: ({ call }) => call("POST /emails", {}),
      link: /^#base-url$/,
      shows: /^Base URL ?http:\/\/127\.0\.0\.1:\d+$/,
    },
  ],
  page_filtered: [
    {
      what: "that hides all calls",
      provoke: sendOne,
      at: "/?state=failed",
      link: /^\/#timeline$/,
      shows: /Your receipt/,
    },
    {
      what: "that shows an older call",
      provoke: async (sandbox) => {
        await sandbox.send({ subject: "Older" });
        await sendOne(sandbox);
      },
      at: "/?q=Older&item=dlv_x",
      link: /^\/\?item=dlv_x#timeline$/,
      shows: /Your receipt/,
    },
  ],
};

const rows = Object.entries(cases).flatMap(([code, some]) =>
  some.map((row) => ({ code, what: "usually", ...row })),
);

describe("a finding", () => {
  test.each(rows)("$code ($what) is shown, and its link leads to its fix", async (row) => {
    const { code, options, provoke, at = "/", link, form: action, fill, shows } = row;
    const opened = await openPage(options);
    await provoke(opened);
    const page = await opened.get(at);
    const found = the(page.dom, `[data-finding=${code}]`);
    const { health } = (await opened.control("GET overview")).body;
    const finding = health.find((one: { code: string }) => one.code === code);
    if (finding) expect(all(the(page.dom, "#health"), `[data-finding=${code}]`)).toEqual([found]);
    // The page shows only the time of day, and code without backticks.
    const text = [finding?.happened, finding?.cause, finding?.fix]
      .filter(Boolean)
      .join(" ")
      .replaceAll(/\d{4}-\d\d-\d\dT([\d:]{8})\.\d{3}Z/g, "$1")
      .replaceAll("`", "");
    if (finding) expect(textOf(found)).toBe(text);

    const href = attr(all(found, "a").at(-1) ?? found, "href") ?? "";
    expect(href).toMatch(link);
    const target = href.startsWith("#") ? page : await opened.get(href);
    expect(target.status).toBe(200);
    expect(problems(target, names)).toEqual([]);
    const place = the(target.dom, new URL(href, page.url).hash);
    if (shows) expect(textOf(place)).toMatch(shows);
    if (action === undefined) return;

    // There are several clock forms. The one needed here moves the clock to the next due item.
    const forms = all(place, `form[data-action=${action}]`);
    const next = forms.find((form) => fieldsOf(form).some(([name]) => name === "to"));
    const form = action === "clock" ? next : forms[0];
    if (!form) throw new Error(`There is no form ${action}.`);
    const done = await opened.submit(target, form, fill);
    expect(done.status).toBeLessThan(400);
  });

  test("is on the page for each that the control route has, in its order", async () => {
    const opened = await openPage();
    await refusing(404)(opened);
    await opened.fault("reset", { target: "POST /v1/domains" });
    await opened.send({ subject: "" });
    const { health } = (await opened.control("GET overview")).body;
    const shown = all((await opened.get("/")).dom, "#health li");
    expect(shown.map((item) => attr(item, "data-finding"))).toEqual(
      health.map(({ code }: { code: string }) => code),
    );
    expect(shown.length).toBeGreaterThan(3);
  });

  test("needs attention if it is a problem, and is a folded note otherwise", async () => {
    const opened = await openPage();
    await opened.register((await receiver()).url, "email.sent");
    await opened.send();
    await opened.settle();
    const fine = (await opened.get("/")).dom;
    expect(all(fine, "#health h2")).toEqual([]);
    expect(attr(the(fine, "#health"), "aria-label")).toBe("Notes");
    expect(textOf(the(fine, "#health details summary"))).toBe("1 note");
    await opened.send({ subject: "" });
    const refused = (await opened.get("/")).dom;
    expect(textOf(the(refused, "#health h2"))).toBe("Needs attention (1)");
    expect(attr(the(refused, "#health"), "aria-label")).toBe("Needs attention");
    expect(textOf(the(refused, "#health details summary"))).toBe("1 note");
  });

  test("is absent when there is none, and so is the heading", async () => {
    const opened = await openPage();
    const { dom } = await opened.get("/?state=failed");
    expect(all(dom, "#health li")).toEqual([]);
    expect(attr(the(dom, "#health"), "hidden")).toBe("");
  });

  test("is not that of a filter while the newest call matches it, or on older pages", async () => {
    const opened = await openPage();
    await refusing(500)(opened);
    expect(all((await opened.get("/?state=waiting")).dom, "[data-finding=page_filtered]")).toEqual(
      [],
    );
    const { next_cursor: cursor } = (await opened.control("GET timeline?limit=1")).body;
    const older = await opened.get(`/?state=failed&before=${cursor}`);
    expect(all(older.dom, "[data-finding=page_filtered]")).toEqual([]);
  });
});
