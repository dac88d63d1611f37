import { present } from "@svc-webhooks/kit/present";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { openProfile } from "@svc-webhooks/kit/chromium";
import { listen } from "@svc-webhooks/kit/servers";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { openInspector, openService, visit } from "./service.js";

const attack = `<script>hacked=1</script>"><img src=/x onerror=hacked=1>'`;
const hidden = "a\u202eb\u001bc\u0000d\u200be";
const marks = ["RLO", "ESC", "NUL", "ZWSP"];

/** Fails if the page contains an element that only injected text can have created. */
async function expectInert(page: Page): Promise<void> {
  const made = await page.evaluate(() => ({
    elements: document.querySelectorAll(
      "img, object, embed, base, style, [style], [onerror], [onload], script:not([src^='/assets/'])",
    ).length,
    hacked: "hacked" in globalThis,
    title: document.title.search(/[\p{Cc}\p{Cf}]/u),
    links: [...document.querySelectorAll("a")].filter(
      ({ protocol, origin }) => !protocol.startsWith("http") || origin !== location.origin,
    ).length,
  }));
  expect(made).toEqual({ elements: 0, hacked: false, title: -1, links: 0 });
}

const marksIn = (page: Page, selector: string): Promise<readonly string[]> =>
  page.locator(`${selector} .mark`).allTextContents();

describeWithBrowser("hostile texts", () => {
  test("are shown as texts and marks, wherever they are", async () => {
    const { page, sandbox, register, send, deliveries } = await openInspector(
      {},
      { assumptions: { "A-04": { "send.sent": "email.sent", "send.delivered": attack } } },
    );
    sandbox.deliverTo(
      () =>
        new Response(JSON.stringify({ error: { code: attack } }) + hidden, {
          status: 400,
          headers: { "x-evil": attack, location: "javascript:hacked=1" },
        }),
    );
    await register("http://localhost:3000/?q=<img/src=x/onerror=hacked=1>", "email.sent");
    const subject = `${attack}\u202e\u200b`.padEnd(300, "x");
    await send({ subject, text: hidden }, attack.padEnd(200, "k"));
    const [delivery] = await deliveries();
    await visit(page, `/?item=${present(delivery).id}`);
    await page.locator("#response .hdr").waitFor();
    await page.evaluate(() => {
      // An open menu would cover the rows below it.
      for (const details of document.querySelectorAll("details"))
        details.open = !details.matches(".menu");
    });
    await expectInert(page);
    for (const place of ["#calls", "#about", "#response", ".rail"])
      expect(await page.locator(place).first().innerText()).toContain("hacked=1");
    expect(await marksIn(page, "#calls")).toEqual(["RLO", "ZWSP"]);
    expect(await marksIn(page, "#response pre")).toEqual(marks);
    // Checks the same in the view that the script renders.
    await page.locator("#calls .tree a.name").first().click();
    await page.locator("#email").waitFor();
    expect(await marksIn(page, "#email pre")).toEqual(marks);
    await expectInert(page);
    await page.goto(`/?q=${encodeURIComponent(attack)}&type=${encodeURIComponent(hidden)}`);
    await expectInert(page);
  });

  test("of a receiver may be long, not UTF-8, or not one header", async () => {
    const { page, sandbox, register, send, deliveries } = await openInspector();
    const bodies: readonly BodyInit[] = [
      `${hidden}${"<b>x</b>".repeat(131_072)}`,
      new Uint8Array([0x3c, 0x62, 0x3e, 0xff, 0xfe, 0x80]),
    ];
    let n = 0;
    sandbox.deliverTo(() => new Response(bodies[n++], { status: 500 }));
    await register("http://localhost:3000/webhooks", "email.sent");
    await send();
    await sandbox.clock.advanceToNext();
    const { id } = present((await deliveries())[0]);
    await visit(page, `/?item=${id}&attempt=1`);
    expect(await marksIn(page, "#response pre")).toEqual(marks);
    expect(await page.locator("#response").innerText()).toContain("16,384 of ");
    await page.locator("#response").getByText("Show all stored bytes").click();
    await expect
      .poll(async () => (await page.locator("#response pre").innerText()).length)
      .toBeGreaterThan(60_000);
    await expectInert(page);
    await visit(page, `/?item=${id}&attempt=2`);
    expect(await page.locator("#response pre").innerText()).toContain("3c 62 3e ff fe 80");
  });
});

/**
 * Starts a server that counts its connections, because a browser may connect before it sends a request. Returns its
 * address and the count.
 */
async function connectionsTo() {
  let connections = 0;
  const port = await listen((_request, response) => response.end());
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => {});
    const passed = connect(port, "127.0.0.1").on("error", () => {});
    socket.pipe(passed).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port: own } = server.address() as AddressInfo;
  return { to: `http://localhost:${own}`, connections: () => connections };
}

describeWithBrowser("a hostile email", () => {
  test("runs nothing, loads nothing and leads nowhere", async () => {
    const { to, connections } = await connectionsTo();
    const html = `<!doctype html><html><head><base href="${to}/"><meta http-equiv="refresh" content="0;url=${to}/refresh">
      <link rel="stylesheet" href="${to}/style.css"><link rel="preload" as="image" href="${to}/preload">
      <link rel="prefetch" href="${to}/prefetch"><link rel="dns-prefetch" href="${to}">
      <style>@import "${to}/import.css"; body { background: url(${to}/background) } @font-face { font-family: x; src: url(${to}/font) } p { font-family: x; color: rgb(1, 2, 3) }</style>
      <script src="${to}/script.js"></script><script>top.hacked = 1; new Image().src = "${to}/inline"; open("${to}/open")</script></head>
      <body onload="top.hacked = 1"><p>Hostile</p><img src="${to}/pixel"><img src=x onerror="top.hacked = 1"><img srcset="${to}/set 1x">
      <img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7">
      <iframe src="${to}/frame"></iframe><iframe srcdoc="<script>top.hacked = 1</script>"></iframe><object data="${to}/object"></object><embed src="${to}/embed">
      <video src="${to}/video" poster="${to}/poster" autoplay></video><audio src="${to}/audio" autoplay></audio><svg><image href="${to}/svg"/><script>top.hacked = 1</script></svg>
      <a id="way" style="position: fixed; inset: 0; z-index: 9" target="_top" href="${to}/top" ping="${to}/ping">Go</a>
      <form action="${to}/form" target="_blank"><input name="x" autofocus><button>Send</button></form></body></html>`;
    const service = await openService();
    const page = await openPage(service.url, {
      // The browser reports each load that the email's policy blocks. `connections` counts what actually got through.
      allow: [/content security policy/i, /sandboxed/, new RegExp(`^request to .*${to}/`)],
    });
    await service.send({ html });
    const { data } = await service.call("GET timeline");
    const sent = present(data.find(({ send }) => send)).send.id;
    await visit(page, `/?item=${sent}`);
    const frame = page.locator("iframe");
    await frame.scrollIntoViewIfNeeded();
    const loaded = () => page.frames().some((one) => one.url().endsWith(`/${sent}/html`));
    await expect.poll(loaded).toBe(true);
    const mail = page.frames().find((one) => one.url().endsWith(`/${sent}/html`));
    await mail?.waitForLoadState("load");
    const box = await frame.boundingBox();
    await page.mouse.click((box?.x ?? 0) + 40, (box?.y ?? 0) + 40);
    await page.keyboard.press("Enter");
    // The page loads another view: anything that the email requested would have been sent before that.
    await page.locator("#calls a.name").first().click();
    await expect.poll(() => page.locator("iframe").count()).toBe(0);
    await expectInert(page);
    expect(new URL(page.url()).origin).toBe(service.url);
    expect(page.context().pages()).toHaveLength(1);
    expect(connections()).toBe(0);
  });

  test.each([
    ["a frame", (to: string) => `<p>Hostile</p><IFRAME src="${to}/"></IFRAME>`],
    ["a set of frames", (to: string) => `<frameset><frame src="${to}/"></frameset>`],
  ])("with %s connects nowhere, in the page and alone", async (_what, htmlOf) => {
    const { to, connections } = await connectionsTo();
    const allow = [/content security policy/i, /^request to another origin/];
    const { page, send } = await openInspector({ allow });
    const { send_id: id } = await send({ html: htmlOf(to) });
    await visit(page, `/?item=${id}`);
    await page.locator("iframe").scrollIntoViewIfNeeded();
    await expect.poll(() => page.frames().length).toBeGreaterThan(1);
    await page.frames()[1]?.waitForLoadState("load");
    await page.goto(`/_sandbox/sends/${id}/html`);
    // The other origin forces a new connection, which is made after any that the email could have opened.
    await page.goto(to.replace("localhost", "127.0.0.1"));
    expect(connections()).toBe(1);
  });

  test("connects nowhere ahead of a request, in the page and alone, in a profile", async () => {
    const { to, connections } = await connectionsTo();
    const html = `<LINK rel="preconnect" href="${to}"><link rel="preconnect" href="${to}" crossorigin>
      <div><template shadowrootmode="open"><link rel="preconnect" href="${to}"></template></div>
      <meta http-equiv="x-dns-prefetch-control" content="on"><link rel="dns-prefetch" href="${to}"><a href="${to}/">x</a>
      <script type="speculationrules">{"prefetch":[{"urls":["${to}/"],"eagerness":"immediate"}]}</script>`;
    const service = await openService();
    const { send_id: id } = await service.send({ html });
    const context = await openProfile();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(`${service.url}/?item=${id}`);
    await page.locator("iframe").scrollIntoViewIfNeeded();
    await expect.poll(() => page.frames().length).toBeGreaterThan(1);
    await page.frames()[1]?.waitForLoadState("load");
    await page.goto(`${service.url}/_sandbox/sends/${id}/html`);
    // The email would have connected before this request. The request goes to another server, because a profile may
    // open several connections to one.
    await page.goto((await connectionsTo()).to);
    expect(connections()).toBe(0);
  });

  test("lists its links as text", async () => {
    const { page, send, call } = await openInspector();
    await send({
      html: `<a href="javascript:alert(1)">x</a><a href="https://evil.test/\u202e">y</a>`,
    });
    const { data } = await call("GET timeline");
    await visit(page, `/?item=${data[0]?.send.id}`);
    await page.locator("#links > summary").click();
    const links = page.locator("#links li");
    expect(await links.allInnerTexts()).toEqual([
      "javascript:alert(1)",
      expect.stringContaining("https://evil.test/"),
    ]);
    expect(await marksIn(page, "#links")).toEqual(["RLO"]);
    expect(await links.locator("a").count()).toBe(0);
  });
});
