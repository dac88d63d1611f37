import { present } from "@svc-webhooks/kit/present";
import { beforeEach, describe, expect, test } from "vitest";
import { receiver } from "../support.js";
import { all, attr, formOf, openPage, rawText, textOf, the, type Reply } from "./support.js";

const detail = ({ dom }: Reply) => the(dom, "#detail");

/** Opens a sandbox with a delivery that has one failed attempt and is waiting for the next. */
async function story() {
  const opened = await openPage();
  const { url, got } = await receiver([500, 200], { text: "The receiver's text" });
  await opened.register(url, "email.sent");
  await opened.send();
  await opened.settle();
  const sent = present((await opened.calls()).at(-1));
  const event = present(sent.events[0]);
  return { ...opened, got, sent, event, delivery: present(event.deliveries[0]) };
}

let opened: Awaited<ReturnType<typeof story>>;

beforeEach(async () => {
  opened = await story();
});

describe("a link to an item opens", () => {
  test("a call, with its request and response", async () => {
    const { id } = opened.sent;
    const page = await opened.get(`/?item=${id}`);
    const { request, response } = (await opened.control(`GET calls/${id}`)).body;
    expect(textOf(the(page.dom, "#h-detail"))).toBe("POST /v1/emails 202");
    expect(rawText(the(page.dom, "#request pre"))).toBe(request.body.text);
    expect(rawText(the(page.dom, "#response pre"))).toBe(response.body.text);
    expect(textOf(the(page.dom, "#request table"))).toContain("authorization");
    expect(textOf(the(page.dom, "title"))).toBe("POST /v1/emails · svc-webhooks sandbox");
    const current = all(page.dom, "#calls a[aria-current=true]");
    expect(current.map(textOf)).toEqual(["POST /v1/emails"]);
  });

  test("a send, with its history and its mail", async () => {
    const { id } = opened.sent.send;
    const page = await opened.get(`/?item=${id}`);
    expect(textOf(the(page.dom, "#h-detail"))).toBe("Your receipt");
    const statuses = all(page.dom, "#about table td").map(textOf);
    expect(statuses).toEqual(["accepted", "sent", "delivered"]);
    expect(rawText(the(page.dom, "#email pre"))).toBe("Thank you.");
    expect(all(page.dom, ".trail a").map(textOf)).toEqual(["POST /v1/emails"]);
    expect(all(page.dom, "#calls a[aria-current=true]").map(textOf)).toEqual(["Your receipt"]);
  });

  test("an event, with its deliveries", async () => {
    const page = await opened.get(`/?item=${opened.event.id}`);
    expect(textOf(the(page.dom, "#h-detail"))).toBe("email.sent");
    const links = all(page.dom, "#about .plain a").map((link) => attr(link, "href"));
    expect(links).toContain(`/?item=${opened.delivery.id}#detail`);
    expect(all(page.dom, ".trail a").map(textOf)).toEqual(["POST /v1/emails", "Your receipt"]);
  });

  test("an event that went nowhere, with the reason and the fix", async () => {
    const event = present(opened.sent.events.find(({ not_sent: reason }) => reason));
    const page = await opened.get(`/?item=${event.id}`);
    expect(textOf(detail(page))).toContain("Not sent: no endpoint subscribes to it.");
    expect(attr(the(page.dom, "#about .verdict a"), "href")).toBe("#new-endpoint");
    await opened.control("POST assumptions/A-04", { value: "none" });
    await opened.send();
    await opened.settle();
    const latest = (await opened.calls()).at(-1)?.events[0];
    const other = await opened.get(`/?item=${latest?.id}`);
    expect(textOf(detail(other))).toContain("Not raised (A-03, A-04, A-07).");
    expect(all(other.dom, "#about .verdict a").map((link) => attr(link, "href"))).toEqual([
      "#A-03",
      "#A-04",
      "#A-07",
      "#A-03",
      "#A-04",
    ]);
  });

  test("a delivery, by its own id and by its event id", async () => {
    const { id } = opened.delivery;
    const { event_id: event } = (await opened.control(`GET deliveries/${id}`)).body;
    const [own, byEvent] = [await opened.get(`/?item=${id}`), await opened.get(`/?item=${event}`)];
    expect(textOf(the(own.dom, "#h-detail"))).toMatch(
      /^email\.sent to 127\.0\.0\.1:\d+\/webhooks$/,
    );
    expect(textOf(detail(byEvent))).toBe(textOf(detail(own)));
  });

  test("an attempt, and else the newest", async () => {
    const { id } = opened.delivery;
    await opened.control("POST clock", { to: "next" });
    const shown = async (query: string) => {
      const { dom } = await opened.get(`/?item=${id}${query}`);
      return [
        textOf(the(dom, "#h-signature")),
        textOf(the(dom, "#response .note")).slice(0, 8),
        textOf(the(dom, "#attempts a[aria-current=true]")),
      ];
    };
    const first = ["Signature of attempt 1", "HTTP 500", "1"];
    const second = ["Signature of attempt 2", "HTTP 200", "2"];
    expect(await shown("&attempt=1")).toEqual(first);
    expect(await shown("&attempt=2")).toEqual(second);
    for (const query of ["", "&attempt=3", "&attempt=999999", "&attempt=0", "&attempt=x"])
      expect(await shown(query)).toEqual(second);
    const { dom } = await opened.get(`/?item=${id}&attempt=1`);
    const bytes = rawText(the(dom, "#request pre"));
    expect(bytes).toBe(opened.got[0]?.body.toString());
    expect(textOf(the(dom, "#request"))).toContain("the same on every untampered attempt");
    expect(attr(the(dom, "#actions a[data-copy-from]"), "href")).toBe(
      `/_sandbox/deliveries/${id}/attempts/1/curl`,
    );
  });

  test("the same in another browser: the address is all that it depends on", async () => {
    const address = `/?item=${opened.delivery.id}&attempt=1&state=waiting&full=true`;
    const [one, other] = [await opened.get(address), await opened.get(address)];
    // Each form that shows a secret has its own token.
    const steady = ({ html }: Reply) => html.replaceAll(/name="token" value="[\w-]+"/g, "");
    expect(steady(one)).toBe(steady(other));
    expect(one.headers.get("set-cookie")).toBeNull();
  });
});

describe("a wrong parameter", () => {
  test.each([
    "item=nonsense",
    "item=we_00000000000000000000",
    "item=dlv_../../x",
    "attempt=-1",
    "attempt=1e3",
    "from=0",
    "full=yes",
    "state=unknown",
    "refresh=1",
    "before=nonsense",
    "before=",
    `q=${"x".repeat(201)}`,
    `type=${"x".repeat(201)}`,
    "part=nothing",
    "done=nothing",
    "done=toString",
    "limit=1",
    "nonsense=1",
  ])("is ignored: %s", async (query) => {
    const plain = await opened.get("/");
    const page = await opened.get(`/?${query}`);
    expect(page.status).toBe(200);
    const steady = ({ html }: Reply) =>
      html
        .replaceAll(/name="token" value="[\w-]+"/g, "")
        .replaceAll(/data-rev="[^"]*"/g, "")
        .replaceAll(/data-key="[^"]*"/g, "")
        .replaceAll(/<input type="hidden" name="before" value="[^"]*"\/>/g, "")
        .replaceAll(/[?&](?:amp;)?(?:before|attempt)=[^"&#]*/g, "");
    if (!query.startsWith("before=n")) expect(steady(page)).toBe(steady(plain));
    expect(all(page.dom, "#calls .call")).toHaveLength(2);
  });

  test("is ignored among others", async () => {
    const page = await opened.get(`/?item=${opened.delivery.id}&state=waiting&attempt=x&from=y`);
    expect(textOf(the(page.dom, "#h-detail"))).toContain("email.sent");
    expect(textOf(the(page.dom, "#states a[aria-current=true]"))).toMatch(/^Retrying/);
  });
});

describe("pages of the timeline", () => {
  test("have 100 calls, in order and without repeating one, and lead back", async () => {
    for (let n = 0; n < 103; n += 1) await opened.call("GET /v1/webhook-event-types");
    const ids = ({ dom }: Reply) =>
      all(dom, "#calls li").flatMap((row) => {
        const id = attr(row, "id");
        return id?.startsWith("call_") ? [id] : [];
      });
    const first = await opened.get("/?reads=true");
    const older = attr(the(first.dom, "#older"), "href");
    const second = await opened.get(older);
    const all105 = (await opened.calls()).map(({ id }) => id).toReversed();
    expect([...ids(first), ...ids(second)]).toEqual(all105);
    expect(ids(first)).toHaveLength(100);
    expect(textOf(the(first.dom, "#more"))).toContain("100 of 105 calls shown");
    expect(attr(the(first.dom, "#newer"), "hidden")).toBe("");
    const newer = the(second.dom, "#newer");
    expect(attr(newer, "hidden")).toBeUndefined();
    expect(ids(await opened.get(attr(newer, "href")))).toEqual(ids(first));
    // A new call does not shift the older page.
    await opened.send();
    expect(ids(await opened.get(older))).toEqual(ids(second));
  });

  test("continue after any row, from the cursor of that row", async () => {
    await opened.send();
    const rowsAt = async (address: string) =>
      all((await opened.get(address)).dom, "#calls li[data-cursor]");
    const idsOf = (rows: Awaited<ReturnType<typeof rowsAt>>) => rows.map((row) => attr(row, "id"));
    const rows = await rowsAt("/");
    expect(rows.length).toBeGreaterThan(2);
    for (const [index, row] of rows.entries()) {
      const next = await rowsAt(`/?before=${attr(row, "data-cursor")}`);
      expect(idsOf(next)).toEqual(idsOf(rows.slice(index + 1)));
    }
  });

  test("say that nothing is older", async () => {
    const { next_cursor: cursor } = (await opened.control("GET timeline?limit=1")).body;
    await opened.control("POST reset");
    await opened.clock.advance(1);
    await opened.send();
    const page = await opened.get(`/?before=${cursor}`);
    expect(textOf(the(page.dom, "#empty"))).toBe("No older calls. Newest calls");
  });
});

describe("copies that were sent from the page", () => {
  test("are one chip, and pages of 50 in the table", async () => {
    const { id } = opened.delivery;
    await opened.control("POST clock", { to: "next" });
    const page = await opened.get(`/?item=${id}`);
    const form = formOf(page, "send", { place: "copies" });
    const sent = await opened.submit(page, form, { times: "100" });
    await opened.settle();
    const shown = await opened.follow(sent);
    expect(opened.got).toHaveLength(102);
    const chips = all(shown.dom, `#calls .track .chip`).filter((chip) =>
      attr(chip, "href")?.includes(id),
    );
    expect(chips.map(textOf)).toEqual([
      "1 failed: 500",
      "2 succeeded: 200",
      "3–102 succeeded: 100 × 200",
    ]);
    expect(attr(chips[2] ?? the(shown.dom, "a"), "href")).toBe(`/?item=${id}&attempt=3#detail`);

    const numbers = ({ dom }: Reply) =>
      all(dom, "#attempts tbody a").map((one) => Number(textOf(one)));
    const from = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, index) => first + index);
    expect(numbers(shown)).toEqual(from(53, 102));
    const link = (reply: Reply, text: string) => {
      const found = all(reply.dom, "#attempts .head a").find((one) => textOf(one) === text);
      return found && attr(found, "href");
    };
    const earlier = await opened.get(link(shown, "52 earlier"));
    expect(numbers(earlier)).toEqual(from(3, 52));
    const first = await opened.get(link(earlier, "2 earlier"));
    expect(numbers(first)).toEqual(from(1, 50));
    expect(numbers(await opened.get(link(first, "52 later")))).toEqual(from(51, 100));
    const beyond = await opened.get(`/?item=${id}&from=5000`);
    expect(numbers(beyond)).toEqual([102]);
  });

  test("are separate chips where their results differ", async () => {
    const { id } = opened.delivery;
    for (const tamper of ["missing_header", "missing_header", "missing_prefix"])
      await opened.control(`POST deliveries/${id}/send`, { tamper });
    await opened.settle();
    const { dom } = await opened.get(`/?item=${id}`);
    const chips = all(dom, "#calls .track .chip").map(textOf);
    expect(chips).toContain("2–3 succeeded: 2 × 200 tampered");
    expect(chips).toContain("4 succeeded: 200 tampered");
    expect(textOf(the(dom, "#attempts"))).toContain("signature without sha256=");
    expect(textOf(the(dom, "#signature"))).toContain("Tampered: ");
  });
});

describe("a body over 16 KiB", () => {
  test("is cut, with both sizes, and shown whole on request", async () => {
    const sandbox = await openPage();
    const { url } = await receiver(500, { text: "ä".repeat(10_000) });
    await sandbox.register(url, "email.sent");
    const text = "x".repeat(30_000);
    await sandbox.send({ text });
    await sandbox.settle();
    const { id } = present((await sandbox.deliveries())[0]);
    const page = await sandbox.get(`/?item=${id}`);
    const response = the(page.dom, "#response");
    expect(textOf(response)).toContain("16,384 of 20,000 bytes are shown. Show all stored bytes");
    expect(rawText(the(response, "pre"))).toBe("ä".repeat(8_192));
    const link = all(response, "a").find((one) => textOf(one).startsWith("Show all"));
    const whole = await sandbox.get(link && attr(link, "href"));
    expect(new URL(whole.url).hash).toBe("#response");
    expect(rawText(the(whole.dom, "#response pre"))).toBe("ä".repeat(10_000));
    expect(textOf(the(whole.dom, "#response"))).not.toContain("are shown");
    expect(rawText(the(whole.dom, "#email pre"))).toBe(text);
    const mail = textOf(the(page.dom, "#email"));
    expect(mail).toContain("16,384 of 30,000 bytes are shown.");
  });

  test("is cut at 64 KiB if it is a response, and the page has both sizes", async () => {
    const sandbox = await openPage();
    const { url } = await receiver(500, { text: "x".repeat(1_048_576) });
    await sandbox.register(url, "email.sent");
    await sandbox.send();
    await sandbox.settle();
    const { id } = present((await sandbox.deliveries())[0]);
    const page = await sandbox.get(`/?item=${id}&full=true`);
    expect(textOf(the(page.dom, "#response"))).toMatch(/65,536 of [\d,]{6,9} bytes are shown/);
  });
});

describe("a part of the page", () => {
  test("is the same as in the page, alone or with others", async () => {
    const address = `/?item=${opened.delivery.id}`;
    const page = await opened.get(address);
    const steady = (html: string) => html.replaceAll(/name="token" value="[\w-]+"/g, "");
    for (const part of ["header", "health", "timeline", "detail", "setup"]) {
      const { html } = await opened.get(`${address}&part=${part}`);
      expect(steady(page.html)).toContain(steady(html));
      expect(html.length).toBeGreaterThan(100);
    }
    const two = await opened.get(`${address}&part=health&part=timeline`);
    expect(all(two.dom, "#health")).toHaveLength(1);
    expect(all(two.dom, "#timeline")).toHaveLength(1);
    expect(all(two.dom, "#detail")).toHaveLength(0);
  });

  test("of the timeline is limited to the requested calls", async () => {
    const { id } = opened.sent;
    const { dom } = await opened.get(`/?part=timeline&call=${id}&call=call_x`);
    expect(all(dom, "#calls li").flatMap((row) => attr(row, "id") ?? [])).toEqual([id]);
  });

  test("of the timeline without any of its rows does not say that there are none", async () => {
    const whole = await opened.get("/?part=timeline");
    const { dom } = await opened.get("/?part=timeline&call=none");
    expect(all(dom, "#calls li")).toEqual([]);
    expect(all(dom, "#empty")).toEqual([]);
    expect(textOf(the(dom, "#more"))).toBe(textOf(the(whole.dom, "#more")));
  });
});
