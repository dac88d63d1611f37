import { present } from "@svc-webhooks/kit/present";
import { describe, expect, test } from "vitest";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { impatient, newFile, receiver, type Respond } from "../support.js";
import {
  all,
  attr,
  fieldsOf,
  formOf,
  mismatch,
  openPage,
  rawText,
  textOf,
  the,
  type Reply,
} from "./support.js";

const detail = ({ dom }: Reply) => textOf(the(dom, "#detail"));

/** Sends one email to a receiver that responds in this way. `show` loads the delivery's page. */
async function delivered(respond: Respond, text = "", options: SandboxOptions = {}) {
  const opened = await openPage({ assumptions: { "A-09": "1h" }, ...options });
  const { url } = await receiver(respond, { text });
  await opened.register(url, "email.sent");
  await opened.send();
  await opened.settle();
  const [delivery] = await opened.deliveries();
  const id = delivery?.id as string;
  return { ...opened, receiver: url, id, show: () => opened.get(`/?item=${id}`) };
}

test("a sender on a domain that is not verified is reported with the domain, and `from` as code", async () => {
  const { send, get } = await openPage();
  const { headers } = await send({ from: "ada@other.test" });
  const { dom } = await get(`/?item=${headers.get("x-request-id")}`);
  const note = all(dom, "#detail p.sub").find((one) => textOf(one).includes("A-06"));
  expect(note && textOf(note)).toContain("The domain other.test in from is not verified.");
  expect(note && all(note, "code").map(textOf)).toEqual(["from"]);
});

describe("a sandbox that was just started", () => {
  test("shows three steps: the environment, a form of an endpoint, a test email", async () => {
    const { url, get } = await openPage();
    const page = await get();
    expect(all(page.dom, "#detail ol h3").map(textOf)).toEqual([
      "Point your code at the sandbox",
      "Register your receiver",
      "Send an email",
    ]);
    expect(rawText(the(page.dom, "#detail pre"))).toBe(`SVC_BASE_URL=${url}\nSVC_API_KEY=svc_test`);
    const form = the(page.dom, "#detail form[data-action=create-endpoint]");
    expect(fieldsOf(form)).toEqual(
      expect.arrayContaining([
        ["url", "http://localhost:3000/webhooks"],
        ["type", "email.sent"],
        ["type", "email.delivered"],
        ["type", "domain.updated"],
      ]),
    );
    the(page.dom, "#detail form[data-action=test-email] button");
    expect(textOf(the(page.dom, "#empty"))).toMatch(/^No call has arrived yet\./);
    expect(textOf(the(page.dom, "#domains"))).toContain("To add one, call POST /v1/domains.");
  });

  test("leads to a delivery by its three steps alone", async () => {
    const opened = await openPage();
    const { url, got } = await receiver();
    const first = await opened.get();
    const created = await opened.submit(first, formOf(first, "create-endpoint"), { url });
    expect(textOf(the(created.dom, "#secret .whole"))).toMatch(/^whsec_/);
    expect(all(created.dom, "#detail h3").map(textOf)[1]).toBe("Register your receiver done");
    const form = the(created.dom, "#detail form[data-action=test-email]");
    expect(attr(the(form, "button"), "class")).toBe("main");
    const sent = await opened.follow(await opened.submit(created, form));
    await opened.settle();
    expect(detail(sent)).toContain("Test email");
    expect(got).toHaveLength(2);
    expect(detail(await opened.get())).toMatch(/The newest delivery: email\.\w+/);
  });
});

describe("a timeline without a call", () => {
  test("names the active filters and how many are stored, and one link clears them", async () => {
    const opened = await openPage();
    const { id } = await opened.endpoint("http://127.0.0.1:1/");
    await opened.send();
    await opened.settle();
    const page = await opened.get(
      `/?state=succeeded&type=email.sent&endpoint_id=${id}&q=nowhere&item=${id}&refresh=30`,
    );
    const empty = the(page.dom, "#empty");
    expect(textOf(empty)).toBe(
      `No call matches state succeeded, type email.sent, endpoint ${id}, text “nowhere”. 2 calls are stored. Clear the filter`,
    );
    const cleared = await opened.get(attr(the(empty, "a"), "href"));
    expect(all(cleared.dom, "#calls .call")).toHaveLength(2);
    expect(new URL(cleared.url).search).toBe("?refresh=30");
  });

  test("keeps the filter in its form, and the form keeps the item", async () => {
    const opened = await openPage();
    await opened.send();
    const { id } = present((await opened.calls())[0]);
    const page = await opened.get(`/?state=not_sent&type=email.sent&q=receipt&item=${id}`);
    const fields = fieldsOf(the(page.dom, "form[role=search]"));
    expect(Object.fromEntries(fields)).toEqual({
      state: "not_sent",
      item: id,
      type: "email.sent",
      q: "receipt",
      endpoint_id: "",
    });
    expect(textOf(the(page.dom, "#states a[aria-current=true]"))).toMatch(/^Not sent/);
    const { data } = (await opened.control("GET timeline?state=not_sent&type=email.sent")).body;
    expect(all(page.dom, "#calls .call")).toHaveLength(data.length);
  });
});

describe("a page on which nothing is chosen", () => {
  test("leads to the newest failure, and to the newest delivery if all succeeded", async () => {
    const opened = await delivered([500, 200]);
    await opened.send();
    await opened.settle();
    const [, newest] = await opened.deliveries();
    const shown = async () => the((await opened.get()).dom, "#detail p");
    const href = (text: Parameters<typeof the>[0]) => attr(the(text, "a"), "href");
    const failure = await shown();
    expect(textOf(failure)).toMatch(/^The newest failure: email\.sent\./);
    expect(href(failure)).toBe(`/?item=${opened.id}#detail`);
    await opened.control("POST clock", { to: "next" });
    const success = await shown();
    expect(textOf(success)).toMatch(/^The newest delivery: email\.sent\./);
    expect(href(success)).toBe(`/?item=${newest?.id}#detail`);
  });
});

describe("a sandbox without faults", () => {
  test("offers the usual plans, and those of an endpoint where there is one", async () => {
    const opened = await openPage();
    const plans = async () => all((await opened.get()).dom, "#faults .plans button").map(textOf);
    const forEmails = "429 to the next email, Retry-After 2 s";
    expect(await plans()).toEqual([forEmails]);
    await opened.endpoint("http://localhost:1/");
    expect(await plans()).toEqual([
      "Fail 2, then succeed",
      "Lose a response after success",
      "Time out once",
      forEmails,
    ]);
    await opened.fault("reset");
    expect(await plans()).toEqual([]);
  });

  test("fails two deliveries and then none after its first plan", async () => {
    const opened = await openPage();
    const { url, got } = await receiver();
    await opened.register(url, "email.sent");
    const page = await opened.get();
    await opened.submit(page, formOf(page, "add-fault", { kind: "status", status: "500" }));
    await opened.send();
    await opened.settle();
    await opened.clock.advance(60_000);
    const { id, attempts } = present((await opened.deliveries())[0]);
    expect(attempts.map(({ status }: { status: number }) => status)).toEqual([500, 500, 200]);
    expect(got).toHaveLength(1);
    const shown = await opened.get(`/?item=${id}`);
    expect(textOf(the(shown.dom, "#attempts"))).toMatch(/500 by a fault.*500 by a fault.*200/);
    expect(textOf(the(shown.dom, "#faults"))).toContain("used: status 500");
  });
});

describe("an item that is not stored", () => {
  test("may have been dropped: the page says how many calls were", async () => {
    const opened = await openPage({ maxDeliveries: 20 });
    await opened.send();
    const { id } = present((await opened.calls())[0]);
    for (let n = 0; n < 120; n += 1) await opened.send();
    await opened.settle();
    const { dropped } = (await opened.control("GET overview")).body;
    const page = await opened.get(`/?item=${id}`);
    expect(page.status).toBe(200);
    expect(detail(page)).toContain(`${id} is not here`);
    expect(detail(page)).toContain(`${dropped} older calls were dropped`);
    expect(textOf(the(page.dom, "#more"))).toContain(`${dropped} older calls dropped`);
  });

  test("may have been removed by a reset: the page has its time", async () => {
    const opened = await delivered(200);
    await opened.control("POST reset");
    const { reset_at: at } = (await opened.control("GET overview")).body;
    const page = await opened.show();
    const time = the(page.dom, "#detail time");
    expect(detail(page)).toContain("Everything was removed by a reset at");
    expect(attr(time, "datetime")).toBe(at);
    const back = await opened.get(attr(all(page.dom, "#missing a").at(-1) ?? time, "href"));
    expect(detail(back)).toContain("Three steps");
  });

  test("may have been lost by a restart without a file", async () => {
    const page = await (await openPage()).get("/?item=dlv_00000000000000000000");
    expect(detail(page)).toMatch(
      /was started at .+, without any data: .+ start it with --data FILE/,
    );
    expect(textOf(the(page.dom, "title"))).toBe("svc-webhooks sandbox");
  });

  test("is there after a restart with a file", async () => {
    const data = newFile();
    const before = await delivered(500, "", { data });
    const shown = detail(await before.show());
    await before.sandbox.close();
    const after = await openPage({ data, assumptions: { "A-09": "1h" } });
    const page = await after.get(`/?item=${before.id}`);
    const steady = (text: string) => text.replaceAll(/in [\d.]+ (?:h|min|s)(?: \d+ \w+)?/g, "");
    expect(steady(detail(page))).toBe(steady(shown));
    const other = await after.get("/?item=dlv_00000000000000000000");
    expect(detail(other)).toMatch(/was started at .+, with the data in its file/);
  });

  test("names the assumption if several deliveries share its id", async () => {
    const opened = await openPage({ assumptions: { "A-27": "shared" } });
    await opened.register("http://127.0.0.1:1/a", "email.sent");
    await opened.register("http://127.0.0.1:1/b", "email.sent");
    await opened.send();
    await opened.settle();
    const [event] = await opened.events();
    const page = await opened.get(`/?item=${event?.event_id}`);
    expect(detail(page)).toContain("Several deliveries have this event id (A-27).");
    expect(attr(the(page.dom, "#missing a.as"), "href")).toBe("#A-27");
  });
});

describe("an attempt", () => {
  test.each([
    ["processed", "ok", "1 succeeded: 200", undefined],
    ["ignored", "none", "1 succeeded: 200 ignored", "accepted attempt 1 without processing it"],
    ["duplicate", "none", "1 succeeded: 200 duplicate", "accepted attempt 1 without processing it"],
    ["parked", "none", "1 succeeded: 200 parked", "accepted attempt 1 without processing it"],
  ] as const)("that was %s has its own look: %s", async (status, look, text, sentence) => {
    const opened = await delivered(200, JSON.stringify({ status }));
    const { dom } = await opened.show();
    const chip = the(dom, "#calls .chip");
    expect(attr(chip, "class")).toBe(`chip ${look}`);
    expect(attr(the(chip, "use"), "href")).toBe(`#i-${look}`);
    expect(textOf(chip)).toBe(text);
    const found = all(dom, "#about .refusal").map(textOf);
    expect(found).toEqual(sentence ? [`Your receiver ${sentence}: 200 ${status}.`] : []);
  });

  test("that was refused says so first, in one sentence", async () => {
    const opened = await delivered(401, mismatch);
    const refused = the((await opened.show()).dom, "#about .refusal");
    expect(textOf(refused)).toBe("Your receiver did not accept attempt 1: 401 signature_mismatch.");
    expect(attr(refused, "class")).toBe("refusal bad");
    await opened.control(`POST deliveries/${opened.id}/send`, {
      times: 1,
      tamper: "missing_header",
    });
    await opened.settle();
    const tampered = the((await opened.show()).dom, "#about .refusal");
    expect(textOf(tampered)).toContain("Your receiver did not accept the tampered attempt 2: 401");
    expect(attr(tampered, "class")).toBe("refusal none");
  });

  test("names its endpoint where two endpoints have one URL", async () => {
    const opened = await openPage();
    const url = "http://127.0.0.1:1/";
    const ids = [(await opened.register(url)).id, (await opened.register(url)).id];
    await opened.send();
    await opened.settle();
    const { dom } = await opened.get();
    const rows = all(dom, "#calls .node").map(textOf);
    for (const id of ids) {
      expect(rows.filter((row) => row.includes(`to 127.0.0.1:1/ (${id})`))).toHaveLength(1);
      expect(textOf(the(dom, "#health"))).toContain(`http://127.0.0.1:1/ (${id}) failed.`);
    }
  });
});

describe("a failed attempt says in words what happened", () => {
  test.each([
    [
      "a refusal of 401",
      401,
      mismatch,
      /401 signature_mismatch/,
      /A receiver that refuses a correctly signed/,
    ],
    ["a failure of the receiver", 503, "busy", /✕?503/, /HTTP 503 in .+busy/],
    ["a redirect", 307, "", /307/, /Redirects are not followed \(A-10\)\./],
    ["an empty response", 404, "", /404/, /0 bytes.*No body\./],
  ] as const)("%s", async (_what, status, text, row, shown) => {
    const opened = await delivered(status, text);
    const page = await opened.show();
    expect(textOf(the(page.dom, "#attempts tbody tr"))).toMatch(row);
    expect(detail(page)).toMatch(shown);
    expect(textOf(the(page.dom, "#calls .chip.bad"))).toContain(`failed: ${status}`);
    expect(textOf(the(page.dom, "title"))).toMatch(new RegExp(`^${status} · email.sent · `));
  });

  const closing: Respond = (response) => void response.destroy();
  const greeting: Respond = (response) => void response.socket?.end("220 ready\r\n");

  test.each([
    ["a closed connection", closing, "reset", /Reset\. The connection was closed before/],
    ["another protocol", greeting, "not HTTP", /Not HTTP\. The response is not valid HTTP/],
  ] as const)("%s", async (_what, respond, word, shown) => {
    const opened = await delivered(respond);
    const page = await opened.show();
    expect(textOf(the(page.dom, "#response"))).toMatch(shown);
    expect(textOf(the(page.dom, "#calls .chip.bad"))).toContain(`failed: ${word}`);
  });

  test("a receiver that is not there", async () => {
    const opened = await openPage();
    await opened.register("http://127.0.0.1:1/", "email.sent");
    await opened.send();
    await opened.settle();
    const { id } = present((await opened.deliveries())[0]);
    const page = await opened.get(`/?item=${id}`);
    expect(textOf(the(page.dom, "#response"))).toContain(
      "Connection refused. Nothing is listening on port 1 of 127.0.0.1.",
    );
    expect(textOf(the(page.dom, "#calls .chip.bad"))).toContain("failed: refused");
  });

  test("no response in time, with the assumption", async () => {
    const opened = await openPage({
      clock: impatient,
      assumptions: { "A-10": "timeout:1s", "A-09": "1h" },
    });
    opened.sandbox.deliverTo(() => new Promise<Response>(() => {}));
    await opened.register("http://127.0.0.1:1/", "email.sent");
    await opened.send();
    await opened.settle();
    const { id } = present((await opened.deliveries())[0]);
    const during = await opened.get(`/?item=${id}`);
    expect(textOf(the(during.dom, "#calls .chip.half"))).toBe("1 sending");
    expect(detail(during)).toContain("An attempt is in progress.");
    await opened.clock.advance(1_000);
    const page = await opened.get(`/?item=${id}`);
    const response = the(page.dom, "#response");
    expect(textOf(response)).toContain(
      "Timed out. The receiver did not respond within 1 s (A-10).",
    );
    expect(all(response, "a.as").map((link) => attr(link, "href"))).toContain("#A-10");
    expect(textOf(the(page.dom, "#calls .chip.bad"))).toContain("failed: timed out");
  });
});

describe("a delivery that waits", () => {
  test("has its next attempt as an absolute time and as a duration, in each place", async () => {
    const opened = await delivered([500, 200]);
    const page = await opened.show();
    const { next } = present((await opened.deliveries())[0]);
    const due = all(page.dom, "time[data-due]").filter((one) => attr(one, "datetime") === next.at);
    expect(due.length).toBeGreaterThanOrEqual(3);
    for (const one of due) {
      expect(attr(one, "data-due")).toBe(String(Date.parse(next.at)));
      expect(textOf(one)).toBe("1 h 0 min");
    }
    expect(detail(page)).toContain(`at ${next.at.slice(11, 23)}`);
    expect(detail(page)).toContain("Attempt 2 of 2 starts in 1 h 0 min");
    await opened.control("POST clock", { to: "next" });
    const after = await opened.show();
    expect(all(after.dom, "#about .next")).toEqual([]);
    expect(all(after.dom, "#calls .track a").map(textOf)).toEqual([
      "1 failed: 500",
      "2 succeeded: 200",
    ]);
  });
});

describe("the page without JavaScript", () => {
  test("says so, and reloads itself only if that was chosen", async () => {
    const { get } = await openPage();
    const refresh = ({ dom }: Reply) => all(dom, "noscript meta[http-equiv=refresh]");
    const page = await get("/?q=x");
    expect(refresh(page)).toEqual([]);
    const link = all(page.dom, "noscript a").find((one) => textOf(one).includes("every 5"));
    const chosen = await get(link && attr(link, "href"));
    expect(refresh(chosen).map((meta) => attr(meta, "content"))).toEqual(["5"]);
    const stop = the(chosen.dom, "noscript a");
    expect(refresh(await get(attr(stop, "href")))).toEqual([]);
  });

  test("shows no control that only the script has", async () => {
    const { get } = await openPage();
    const { dom } = await get();
    for (const control of all(dom, "button[type=button]")) {
      const parent = all(dom, "[hidden]").some(
        (element) => element === control || all(element, "button").includes(control),
      );
      expect([textOf(control), parent]).toEqual([textOf(control), true]);
    }
  });
});
