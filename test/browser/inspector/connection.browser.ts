import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { createSandbox, type SandboxOptions } from "@svc-webhooks/sandbox";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { caller, linesOf, live, open, openInspector } from "./support.js";

const connectionErrors = /^console error: Failed to load resource: net::ERR_/;

const liveText = (page: Page) => page.locator("[data-live-text]");

/** Returns the subjects in the timeline, in display order. */
const subjects = (page: Page) => linesOf(page.locator("#calls > li .tree > li:first-child .name"));

const subjectIn = (page: Page, subject: string) =>
  page.locator("#calls .name", { hasText: subject });

/** Simulates hiding or showing the tab with a synthetic event, because a headless browser never hides one. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);

/** Returns the path of a data file in a temporary folder, which is removed when the test ends. */
function dataFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "inspector-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "data.sqlite");
}

/** Starts a sandbox whose server counts its open streams. */
async function counted() {
  const sandbox = createSandbox({ clock: "manual", log: () => {} });
  onTestFinished(() => sandbox.close());
  const listener = getRequestListener(sandbox.fetch);
  let streams = 0;
  const port = await listen((request, response) => {
    if (request.url?.startsWith("/_sandbox/stream")) {
      streams += 1;
      response.on("close", () => (streams -= 1));
    }
    void listener(request, response);
  });
  const url = `http://127.0.0.1:${port}`;
  return { url, call: caller(url), streams: () => streams };
}

describeWithBrowser("the connection of the page", () => {
  test("is resumed after it was cut, and every item is there once", async () => {
    const { url, send } = await open();
    const page = await openInspector({ url }, "/", { allow: [connectionErrors] });
    await send({ subject: "before" });
    await subjectIn(page, "before").waitFor();

    await page.context().setOffline(true);
    await send({ subject: "cut 1" });
    await page.locator('.live[data-live="off"]').waitFor();
    expect(await liveText(page).innerText()).toMatch(
      /^Disconnected since \d\d:\d\d:\d\d, reconnecting$/,
    );
    await send({ subject: "cut 2" });
    expect(await subjects(page)).toEqual(["before"]);
    expect(await subjectIn(page, "before").isVisible()).toBe(true);

    await page.context().setOffline(false);
    await live(page);
    await subjectIn(page, "cut 2").waitFor();
    await send({ subject: "after" });
    await subjectIn(page, "after").waitFor();
    expect(await subjects(page)).toEqual(["after", "cut 2", "cut 1", "before"]);
    expect(await page.locator("#restarted").isVisible()).toBe(false);
  });

  test.each([
    { what: "with --data", kept: true, words: /^Restarted \d\d:\d\d:\d\d, 1 delivery resumed$/ },
    {
      what: "without it",
      kept: false,
      words:
        /^Restarted \d\d:\d\d:\d\d, without the earlier data \(to keep it, start the sandbox with --data\)$/,
    },
  ])("survives a restart of the sandbox $what", async ({ kept, words }) => {
    const options: SandboxOptions = kept ? { data: dataFile() } : {};
    const first = await open(options);
    await first.register("http://localhost:1/", ["email.sent"]);
    await first.send({ subject: "before" });
    await first.sandbox.clock.advance(0);
    const page = await openInspector(first, "/", { allow: [connectionErrors] });
    await page.locator("#calls .chip.wait").waitFor();

    await first.sandbox.close();
    await page.locator('.live[data-live="off"]').waitFor();
    expect(await subjects(page)).toEqual(["before"]);

    const again = createSandbox({ clock: "manual", log: () => {}, ...options });
    onTestFinished(() => again.close());
    await again.listen(Number(new URL(first.url).port));
    await live(page);
    await page.locator("#restarted").waitFor();
    expect(await page.locator("#restarted").innerText()).toMatch(words);
    await first.send({ subject: "after" });
    await subjectIn(page, "after").waitFor();
    expect(await subjects(page)).toEqual(kept ? ["after", "before"] : ["after"]);
    // Both deliveries are pending, because the endpoint was kept too.
    await expect.poll(() => page.locator("#calls .chip.wait").count()).toBe(kept ? 2 : 0);
  });

  test("is closed while the tab is hidden, and shows what came meanwhile afterwards", async () => {
    const { url, call, streams } = await counted();
    const page = await openInspector({ url });
    expect(streams()).toBe(1);
    await setHidden(page, true);
    await until(() => streams() === 0, "the stream is closed");
    await call("POST test-email", { subject: "meanwhile" });
    await setHidden(page, false);
    await subjectIn(page, "meanwhile").waitFor();
    expect(streams()).toBe(1);
  });

  test("is made as soon as a stream is free, and the page works meanwhile", async () => {
    const { url, send } = await open();
    const others = Array.from({ length: 100 }, () => new AbortController());
    onTestFinished(() => {
      for (const other of others) other.abort();
    });
    for (const { signal } of others) {
      const { body } = await fetch(`${url}/_sandbox/stream`, { signal });
      await body?.getReader().read();
    }
    const allow = [connectionErrors, /^console error: Failed to load resource: .* 503/];
    const page = await openPage(url, { allow });
    await send({ subject: "before" });
    await page.goto("/");
    await subjectIn(page, "before").waitFor();
    await page.locator('.live[data-live="off"]').waitFor();
    expect(await liveText(page).innerText()).toMatch(/^Disconnected since .*, reconnecting$/);
    others.pop()?.abort();
    await live(page);
    await send({ subject: "after" });
    await subjectIn(page, "after").waitFor();
  });

  test("leaves connections for the last of seven tabs", async () => {
    const { url, streams } = await counted();
    const first = await openPage(url);
    const tabs = [first];
    await first.goto("/");
    await live(first);
    while (tabs.length < 7) {
      await setHidden(tabs.at(-1) ?? first, true);
      const tab = await first.context().newPage();
      await tab.goto("/");
      await live(tab);
      tabs.push(tab);
    }
    const last = tabs.at(-1) ?? first;
    await last.locator("#test-email [data-key=t]").click();
    await subjectIn(last, "Test email").waitFor();
    await last.locator("#notice", { hasText: "The email was accepted." }).waitFor();
    await until(() => streams() === 1, "one stream is open");
    const [, second = first] = tabs;
    expect(await subjects(second)).toEqual([]);
    await setHidden(second, false);
    await subjectIn(second, "Test email").waitFor();
  });
});
