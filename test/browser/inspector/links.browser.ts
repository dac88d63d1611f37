import { present } from "@svc-webhooks/kit/present";
import { execFile } from "node:child_process";
import type { IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { launchChromium } from "@svc-webhooks/kit/chromium";
import { listen } from "@svc-webhooks/kit/servers";
import type { Page } from "playwright-core";
import { describePosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import { linesOf, live, open, openInspector } from "./support.js";

const shell = promisify(execFile);

interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Opens a delivery that has failed twice and is waiting for its next attempt. Its receiver records every request. */
async function failing() {
  const opened = await open();
  const arrived: Arrived[] = [];
  const port = await listen(async (request, response) => {
    arrived.push({ headers: request.headers, body: await buffer(request) });
    response.writeHead(500, { "content-type": "text/plain" }).end("down");
  });
  await opened.register(`http://localhost:${port}/it's?a=$HOME&b=%27`);
  await opened.send({ subject: 'It\'s `$(HOME)` "100 %" \\ Größe 😀' });
  await opened.sandbox.clock.advance(1_000);
  const deliveries = await opened.deliveries();
  return { ...opened, arrived, delivery: present(deliveries[0]).id };
}

/** Returns everything that the page shows, except for details that depend on the moment. */
const shownIn = async (page: Page): Promise<Readonly<Record<string, unknown>>> => ({
  title: await page.title(),
  url: page.url(),
  calls: await linesOf(page.locator("#calls > li")),
  detail: await linesOf(page.locator("#detail > *")),
  filter: await page.locator("#filter [name=q]").inputValue(),
  type: await page.locator("#filter [name=type]").inputValue(),
  states: await linesOf(page.locator("#states [aria-current]")),
  assumptions: await linesOf(page.locator("#assumptions > *")),
});

describeWithBrowser("the address of the page", () => {
  test("opens the same view in a browser that has never been there", async () => {
    const opened = await failing();
    const page = await openInspector(opened);
    const steps: readonly (() => Promise<unknown>)[] = [
      () => page.locator("#calls .call a.name").first().click(),
      () => page.locator("#calls .tree > li:first-child a.name").click(),
      () => page.locator("#calls .tree > li:nth-child(2) a.name").click(),
      () => page.getByRole("link", { name: "Attempt 1", exact: true }).click(),
      () => page.locator("#states a", { hasText: "Retrying" }).click(),
      () => page.locator("#filter [name=type]").selectOption("email.sent"),
      () => page.locator("#filter [name=q]").fill("Größe"),
      () => page.locator("#filter [name=q]").fill("no such text"),
    ];
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    for (const step of steps) {
      const before = page.url();
      await step();
      await page.waitForURL((url) => url.href !== before);
      const { searchParams } = new URL(page.url());
      // The address changes before the view has loaded.
      const item = searchParams.get("item");
      await page.locator(`#detail[data-scope^="${item} "]`).waitFor();
      if (searchParams.get("q") === "no such text") await page.locator("#empty").waitFor();
      const fresh = await openPage(opened.url, { browser });
      await fresh.goto(page.url());
      await live(fresh);
      await expect.poll(() => shownIn(page)).toEqual(await shownIn(fresh));
      await fresh.close();
    }
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({
      item: opened.delivery,
      attempt: "1",
      state: "waiting",
      type: "email.sent",
      q: "no such text",
    });
  });

  test("says when and why its item has gone", async () => {
    const opened = await failing();
    await opened.call("POST reset");
    const page = await openInspector(opened, `/?item=${opened.delivery}&attempt=1`);
    const [about = ""] = await linesOf(page.locator("#detail > *"));
    expect(about).toMatch(
      new RegExp(`^${opened.delivery} is not here Everything was removed by a reset at `),
    );
    await page.getByRole("link", { name: "Back to the start" }).click();
    await page.getByRole("heading", { name: "Three steps to the first delivery" }).waitFor();
  });
});

describePosix("a copied curl command", () => {
  describeWithBrowser("of the page", () => {
    test.each([
      { what: "as it was sent", body: undefined, tamper: undefined },
      { what: "with two signatures", body: undefined, tamper: "duplicate_header" },
      { what: "without a signature", body: undefined, tamper: "missing_header" },
      { what: "with quotes and line breaks", body: { text: "it's\n'\\''\t\"$X\" `ls` !\n" } },
      { what: "with bytes that are not text", body: { base64: "AAECgP//IScKDQ==" } },
    ])("sends the same bytes and headers again, $what", async ({ body, tamper }) => {
      const opened = await failing();
      const { delivery } = await opened.call(`POST deliveries/${opened.delivery}/send`, {
        ...(body ? { body } : {}),
        ...(tamper ? { tamper } : {}),
      });
      await opened.sandbox.clock.advance(0);
      const page = await openInspector(opened, `/?item=${delivery.id}`);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("link", { name: "Copy as curl" }).click();
      await page.locator("#status", { hasText: "Copied." }).waitFor({ state: "attached" });
      const command = await page.evaluate(() => navigator.clipboard.readText());
      const sent = opened.arrived.at(-1);
      const { stdout } = await shell("sh", ["-c", command]);
      expect(stdout).toMatch(/^HTTP\/1\.1 500 .*\r\n\r\ndown$/s);
      const again = opened.arrived.at(-1);
      expect(again).not.toBe(sent);
      expect(again?.body.toString("hex")).toBe(sent?.body.toString("hex"));
      const { connection: _theirs, ...headers } = again?.headers ?? {};
      const { connection: _ours, ...expected } = sent?.headers ?? {};
      expect(headers).toEqual(expected);
      expect(command).not.toContain("whsec_");
    });
  });
});
