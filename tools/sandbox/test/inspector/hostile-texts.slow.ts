import { present } from "@svc-webhooks/kit/present";
import { describe, expect, test } from "vitest";
import { actionNames as names } from "../../src/control/actions.js";
import { raw } from "../http/raw-request.js";
import { receiver, type Respond } from "../support.js";
import {
  all,
  attr,
  elements,
  formOf,
  openPage,
  problems,
  rawText,
  textOf,
  the,
  type Element,
  type Reply,
} from "./support.js";

/** Markup that would create elements and attributes if it were not escaped, in text and in every kind of attribute. */
const markup = `<script>hostile()</script>"><hostile-x onhostile='1' style=x>'><img src=x onerror=hostile()>-->`;

const hidden = /[^\P{C}\n\t]|[\u2028\u2029]/u;

/** Whether an element's content is user input, which cannot contain marks. */
const isField = ({ tagName }: Element) => tagName === "textarea" || tagName === "input";

/** Lists the effects that hostile texts have had on a page. */
function changes(page: Reply): readonly string[] {
  const every = elements(page.dom);
  const found = problems(page, names).slice();
  for (const element of every) {
    const { tagName, attrs } = element;
    const own = `${tagName} ${attrs.map(({ name, value }) => `${name}=${value}`).join(" ")}`;
    if (/^hostile|^img$/.test(tagName) || attrs.some(({ name }) => /hostile|['"<]/.test(name)))
      found.push(`an element of a text: ${own}`);
    for (const { name, value } of attrs) {
      if (isField(element) && name === "value") continue;
      if (hidden.test(value)) found.push(`an attribute has a hidden character: ${own}`);
    }
    const text = element.childNodes.map((node) => ("value" in node ? node.value : "")).join("");
    if (hidden.test(text) && !isField(element)) found.push(`a hidden character: ${own} ${text}`);
  }
  return found;
}

const marks = (page: Reply, within = "body") =>
  new Set(all(page.dom, `${within} .mark`).map(textOf));

/** Loads everything that the page can show: all items, with all of their bytes. */
async function everyPage({ control, get }: Awaited<ReturnType<typeof openPage>>) {
  const { data } = (await control("GET timeline?limit=100")).body;
  const items = JSON.stringify(data).matchAll(/"((?:call|send|src|dlv)_\w{20})"/g);
  const ids = new Set(Array.from(items, ([, id]) => id));
  const pages = [await get("/")];
  for (const id of ids) pages.push(await get(`/?item=${id}&full=true`));
  expect(pages.length).toBeGreaterThan(2);
  return pages;
}

const inert = async (opened: Awaited<ReturnType<typeof openPage>>) => {
  const pages = await everyPage(opened);
  expect(pages.flatMap(changes)).toEqual([]);
  return pages;
};

/** Opens a sandbox, sends one email to a receiver that responds in this way, and loads the delivery's page. */
async function delivered(respond: Respond, text = "") {
  const opened = await openPage();
  const { url } = await receiver(respond, { text });
  await opened.register(url, "email.sent");
  await opened.send();
  await opened.settle();
  const [delivery] = await opened.deliveries();
  return {
    ...opened,
    page: await opened.get(`/?item=${delivery?.id}`),
    id: delivery?.id as string,
  };
}

const withQuery = (params: Record<string, string>) => `/?${new URLSearchParams(params).toString()}`;

describe("a hostile text is shown and has no effect as", () => {
  test("a subject", async () => {
    const opened = await openPage();
    await opened.endpoint("http://127.0.0.1:1/");
    const subject = `${markup}\u202e\u200b\u2067${"<b>".repeat(20)}`.padEnd(300, "x");
    expect((await opened.send({ subject })).status).toBe(202);
    await opened.settle();
    const pages = await inert(opened);
    expect(marks(pages[0] as Reply, "#timeline")).toEqual(new Set(["RLO", "ZWSP", "RLI"]));
    expect(textOf(the((pages[0] as Reply).dom, "#timeline"))).toContain(markup);
    const { id } = present((await opened.calls()).at(-1)).send;
    const shown = await opened.get(`/?item=${id}`);
    expect(textOf(the(shown.dom, "title"))).toContain(`${markup}‹RLO›‹ZWSP›‹RLI›<b>`);
  });

  test("an address", async () => {
    const opened = await openPage();
    const to = ["x\u202e&#60hostile-x&#62'&ltb&gt@example.test"];
    expect((await opened.send({ to })).status).toBe(202);
    await opened.settle();
    const [page] = await inert(opened);
    expect(textOf(the((page as Reply).dom, "#timeline"))).toContain("&#60hostile-x&#62'&ltb&gt@");
    expect(marks(page as Reply)).toContain("RLO");
  });

  test("an idempotency key and the path of a call", async () => {
    const opened = await openPage();
    await opened.send({}, { "idempotency-key": `${markup}\t\u0085\u009b` });
    await opened.call(`GET /v1/sends/${encodeURIComponent(`${markup}\u202e\0`)}`);
    await raw(opened.url, "GET", `/v1/${markup.replaceAll(" ", "+")}?${markup.length}`, {
      authorization: "Bearer svc_test",
      "user-agent": `${markup}\t\u009b`,
    });
    const pages = await inert(opened);
    const text = textOf(the((pages[0] as Reply).dom, "#timeline"));
    expect(text).toContain(markup);
    expect(text).toContain(encodeURIComponent(markup).slice(0, 20));
    const shown = pages.flatMap((page) => Array.from(marks(page)));
    expect(new Set(shown)).toEqual(new Set(["U+0085", "U+009B", "TAB"]));
  });

  test("an event type, and the body that a function makes", async () => {
    const type = `${markup}\u202e`;
    const opened = await openPage({
      assumptions: {
        "A-04": { "send.sent": type, "send.delivered": "email.delivered" },
        "A-07": () => ({ [markup]: `\u202e\u001b[31m\0 ${markup}` }),
      },
    });
    await opened.endpoint("http://127.0.0.1:1/");
    await opened.send();
    await opened.settle();
    const [first] = await inert(opened);
    expect(textOf(the((first as Reply).dom, "#timeline"))).toContain(markup);
    expect(textOf(the((first as Reply).dom, "#health"))).toContain(markup);
    expect(changes(await opened.get(`/?type=${encodeURIComponent(type)}`))).toEqual([]);
  });

  test("an added event type", async () => {
    const opened = await openPage({ assumptions: { "A-03": "extra:email.opened,x--_.y" } });
    await opened.register("http://127.0.0.1:1/", "x--_.y");
    const page = await opened.get("/?type=x--_.y");
    expect(changes(page)).toEqual([]);
    expect(textOf(the(page.dom, "#endpoints"))).toContain("x--_.y");
  });

  test("the URL of an endpoint", async () => {
    const opened = await openPage();
    const part = markup.replaceAll(" ", "/");
    await opened.endpoint(`http://127.0.0.1:1/${part}?${part}`);
    const { data } = (await opened.control("GET endpoints")).body;
    await opened.send();
    await opened.settle();
    const [page] = await inert(opened);
    expect(textOf(the((page as Reply).dom, "#endpoints"))).toContain(`/${part}?${part}`);
    await opened.control(`POST endpoints/${data[0]?.webhook_endpoint_id}/archive`);
    await opened.send();
    await opened.settle();
    await inert(opened);
  });

  test("a header and the code of the receiver's response", async () => {
    const opened = await delivered((response) => {
      response.setHeader("x-evil", `${markup}\u0085`);
      response.writeHead(401).end(JSON.stringify({ error: { code: `${markup}\u202e\u001b` } }));
    });
    await inert(opened);
    expect(marks(opened.page, "#response")).toEqual(new Set(["U+0085", "RLO"]));
    expect(textOf(the(opened.page.dom, "#response"))).toContain(markup);
    expect(textOf(the(opened.page.dom, "#attempts"))).toContain(`401 ${markup.slice(0, 20)}`);
    expect(marks(opened.page, "#attempts")).toEqual(new Set(["RLO", "ESC"]));
    expect(textOf(the(opened.page.dom, "[data-announce]"))).toContain("‹RLO›‹ESC›");
  });

  test("the body of the receiver's response", async () => {
    const opened = await delivered(500, `${markup}\u202e\u001b[2J\0\r\n\u2028\u{e0001}\ufeff`);
    await inert(opened);
    const shown = marks(opened.page, "#response");
    expect(shown).toEqual(new Set(["RLO", "ESC", "NUL", "CR", "U+2028", "U+E0001", "BOM"]));
    expect(rawText(the(opened.page.dom, "#response pre"))).toContain(markup);
  });

  test("a body that is not UTF-8, in hexadecimal", async () => {
    const bytes = Buffer.concat([Buffer.from("<hostile-x>"), Buffer.from([0xff, 0, 0x1b, 0xe2])]);
    const opened = await delivered((response) => void response.writeHead(500).end(bytes));
    await inert(opened);
    expect(rawText(the(opened.page.dom, "#response pre"))).toBe(
      "00000000  3c 68 6f 73 74 69 6c 65 2d 78 3e ff 00 1b e2     <hostile-x>....",
    );
  });

  test("a response that is not HTTP", async () => {
    const opened = await delivered((response) => {
      response.socket?.end(`HTTP/1.1 200 OK\r\nx: a\u001bb\r\n${markup}\u202e\r\n\r\n`);
    });
    await inert(opened);
    expect(textOf(the(opened.page.dom, "#response"))).toMatch(
      /^Your receiver's responseA-10Not HTTP/,
    );
  });

  test("a body of a mebibyte", async () => {
    const opened = await delivered(500, markup.repeat(12_000));
    await opened.send({ text: markup.repeat(9_000), html: undefined });
    await opened.settle();
    const pages = await inert(opened);
    for (const page of pages) expect(page.html.length).toBeLessThan(4_000_000);
    expect(opened.page.html.length).toBeLessThan(200_000);
  });

  test("a search", async () => {
    const opened = await openPage();
    await opened.send();
    const q = `${markup}\u202e\u001b\0\u2028`;
    const page = await opened.get(withQuery({ q, type: q, endpoint_id: q }));
    expect(changes(page)).toEqual([]);
    expect(marks(page, "#empty")).toEqual(new Set(["RLO", "ESC", "NUL", "U+2028"]));
    expect(textOf(the(page.dom, "#empty"))).toContain(markup);
    expect(attr(the(page.dom, "input[type=search]"), "value")).toContain(markup);
    // A parser would replace a NUL in an attribute.
    const links = all(page.dom, "#states a").map((link) => attr(link, "href") ?? "");
    for (const link of links) expect(new URL(link, page.url).searchParams.get("q")).toBe(q);
  });

  test("a parameter of the address", async () => {
    const opened = await openPage();
    for (const name of [
      "item",
      "attempt",
      "from",
      "full",
      "state",
      "before",
      "refresh",
      "done",
      "part",
      "call",
      "x",
    ])
      expect(changes(await opened.get(withQuery({ [name]: markup })))).toEqual([]);
    const page = await opened.get("/?item=dlv_x");
    expect(textOf(the(page.dom, "#missing h2"))).toBe("dlv_x is not here");
  });

  test.each([
    ["test-email", { place: "options" }, { to: markup, subject: `a\r\nBcc: x@example.test\u202e` }],
    ["create-endpoint", {}, { url: `javascript:${markup}\u202e`, type: markup }],
    ["add-fault", { place: "other" }, { target: `we_${markup}`, times: markup, status: markup }],
    ["set-assumption", { id: "A-09" }, { value: `${markup}\u202e` }],
    ["set-assumption", { id: "A-23" }, { value: `keys:${markup}` }],
    ["clock", { place: "mode" }, { mode: markup }],
  ] as const)("a field of %s %o", async (action, fixed, fields) => {
    const opened = await openPage();
    const page = await opened.get();
    const reply = await opened.submit(page, formOf(page, action, fixed), fields);
    expect(reply.status).toBe(400);
    expect(changes(reply)).toEqual([]);
    the(reply.dom, ".refused");
  });

  test("hidden fields, whatever they name", async () => {
    const opened = await openPage();
    for (const name of names) {
      const reply = await opened.post("/", [
        ["do", name],
        ["id", markup],
        ["n", markup],
        ["token", "x".repeat(16)],
      ]);
      if (reply.status === 303) continue;
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.status).toBeLessThan(500);
      expect(changes(reply)).toEqual([]);
    }
  });
});

describe("a hostile mail", () => {
  const html = `<html><head><meta http-equiv=refresh content="0;url=https://evil.test/"><script>hostile()</script></head><body onload=hostile()><form action=https://evil.test/><a href='javascript:hostile()'>a</a><a href="https://evil.test/\u202e?a&amp;b">b</a></body></html>`;

  test("is in a frame that lets it do nothing, and is served with a policy of its own", async () => {
    const opened = await openPage();
    await opened.send({ html });
    await opened.settle();
    const { id } = present((await opened.calls()).at(-1)).send;
    const page = await opened.get(`/?item=${id}`);
    expect(changes(page)).toEqual([]);
    const frame = the(page.dom, "iframe");
    expect(attr(frame, "sandbox")).toBe("");
    expect(attr(frame, "srcdoc")).toBeUndefined();
    expect(attr(frame, "src")).toBe(`/_sandbox/sends/${id}/html`);
    const mail = await opened.get(attr(frame, "src"));
    // Elements that would make a browser connect are disabled.
    expect(mail.html).toBe(html.replace("<meta", "<x-meta"));
    expect(mail.headers.get("content-security-policy")).toBe(
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    );
    expect(mail.headers.get("content-type")).toMatch(/^text\/html/);
    expect(mail.headers.get("x-content-type-options")).toBe("nosniff");
    const text = await opened.get(`/_sandbox/sends/${id}/text`);
    expect(text.headers.get("content-type")).toMatch(/^text\/plain/);
  });

  test("has its links as text that leads nowhere", async () => {
    const opened = await openPage();
    await opened.send({ html });
    await opened.settle();
    const { id } = present((await opened.calls()).at(-1)).send;
    const page = await opened.get(`/?item=${id}`);
    const links = the(page.dom, "#links");
    expect(all(links, "li").map(textOf)).toEqual([
      "javascript:hostile()",
      "https://evil.test/RLO?a&amp;b",
    ]);
    expect(all(links, "a")).toEqual([]);
    const hrefs = all(page.dom, "a").map((link) => attr(link, "href") ?? "");
    for (const href of hrefs) expect(href).toMatch(/^[/#]/);
  });
});
