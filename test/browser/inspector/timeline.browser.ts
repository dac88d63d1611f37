import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openInspector, refusing, visit } from "./service.js";
import { lineOf, linesOf } from "./support.js";

const rows = (page: Page) => page.locator("#calls > li");
const newer = (page: Page) => page.locator("#newer");

/** Makes `count` read requests. Each one adds a call to the timeline. */
async function read({ sandbox }: { sandbox: { fetch: (request: Request) => unknown } }, count = 1) {
  const headers = { authorization: "Bearer svc_test" };
  for (let n = 0; n < count; n += 1)
    await sandbox.fetch(new Request("http://sandbox.test/v1/domains", { headers }));
}

/** Returns the row's vertical position in the window. */
const topOf = (page: Page, id: string) =>
  page.evaluate((row) => document.querySelector(`#${row}`)?.getBoundingClientRect().top, id);

/** Returns the id of the first row in view. */
const rowInView = (page: Page) =>
  page.evaluate(() => {
    const all = [...document.querySelectorAll("#calls > li")];
    return all.find((row) => row.getBoundingClientRect().top > 200)?.id ?? "";
  });

describeWithBrowser("the timeline", () => {
  test("shows a new call at its top while its start is in view", async () => {
    const opened = await openInspector();
    await read(opened, 3);
    await visit(opened.page);
    const before = await rows(opened.page).first().getAttribute("id");
    await read(opened);
    await expect.poll(() => rows(opened.page).count()).toBe(4);
    expect(await rows(opened.page).nth(1).getAttribute("id")).toBe(before);
    expect(await newer(opened.page).isVisible()).toBe(false);
  });

  test("stays where it is while its start is out of view, and counts newer calls", async () => {
    const opened = await openInspector();
    const { page } = opened;
    await read(opened, 60);
    await visit(page);
    await rows(page).nth(40).scrollIntoViewIfNeeded();
    const row = await rowInView(page);
    const top = await topOf(page, row);
    await read(opened);
    await expect.poll(() => newer(page).textContent()).toBe("1 newer call");
    await read(opened, 2);
    await expect.poll(() => newer(page).textContent()).toBe("3 newer calls");
    expect(await rows(page).count()).toBe(60);
    // The link is above the visible part of the page, so the row must not move.
    expect(Math.abs(((await topOf(page, row)) ?? 0) - (top ?? 0))).toBeLessThanOrEqual(1);
    await newer(page).click();
    await expect.poll(() => rows(page).count()).toBe(63);
    expect(await newer(page).isVisible()).toBe(false);
  });

  test("hides reads that succeeded until they are asked for", async () => {
    const opened = await openInspector();
    const { page, call } = opened;
    const path = "GET /v1/webhook-event-types";
    await call(path);
    await visit(page);
    expect(await lineOf(page.locator("#empty"))).toBe(
      "All calls so far are reads, which are hidden. Show reads",
    );
    await call(path);
    // A refused read.
    await read(opened);
    await expect
      .poll(() => linesOf(page.locator("#calls .call .code")))
      .toEqual(["405 method_not_allowed"]);
    await page.locator("#reads").click();
    await expect.poll(() => rows(page).count()).toBe(3);
    expect(await page.locator("#reads").innerText()).toBe("Hide reads");
    await call(path);
    await expect.poll(() => rows(page).count()).toBe(4);
    expect((await call("GET timeline?reads=false")).data).toHaveLength(1);
    await page.locator("#reads").click();
    await expect.poll(() => rows(page).count()).toBe(1);
  });

  test("stays as it is while the keyboard is in it", async () => {
    const opened = await openInspector();
    const { page } = opened;
    await read(opened, 5);
    await visit(page);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const active = () => page.evaluate(() => document.activeElement?.closest("#calls > li")?.id);
    const row = await active();
    expect(row).toBe(await rows(page).nth(1).getAttribute("id"));
    await read(opened, 2);
    await expect.poll(() => newer(page).textContent()).toBe("2 newer calls");
    expect(await rows(page).count()).toBe(5);
    expect(await active()).toBe(row);
  });

  test("changes a known call in place, wherever the list is", async () => {
    const opened = await openInspector();
    const { page } = opened;
    await opened.register(refusing, "email.sent");
    await opened.send();
    await visit(page);
    await page.keyboard.press("j");
    const row = rows(page).first();
    const id = await row.getAttribute("id");
    expect(await row.locator(".chip").count()).toBe(3);
    await opened.sandbox.clock.advanceToNext();
    await expect.poll(() => row.locator(".chip").count()).toBe(4);
    expect(await row.getAttribute("id")).toBe(id);
  });

  test("freezes while paused, except for the counters", async () => {
    const opened = await openInspector();
    const { page, register, send, deliveries } = opened;
    opened.sandbox.deliverTo(() => new Response("no", { status: 500 }));
    await register("http://localhost:3000/webhooks", "email.sent");
    await send();
    await visit(page, `/?item=${(await deliveries())[0]?.id}`);
    const shown = () => page.locator("main").innerText();
    const waiting = page.locator("[data-count=waiting]");
    await page.keyboard.press("p");
    expect(await page.locator("#pause").getAttribute("aria-pressed")).toBe("true");
    expect(await page.locator("[data-live-text]").textContent()).toBe("Paused");
    const before = await shown();
    await opened.sandbox.clock.advanceToNext();
    await send();
    await expect.poll(() => waiting.textContent()).toBe("2");
    await send();
    await expect.poll(() => waiting.textContent()).toBe("3");
    const counters = /\b[123]\b/g;
    expect((await shown()).replaceAll(counters, "#")).toBe(before.replaceAll(counters, "#"));
    await page.keyboard.press("p");
    await expect.poll(() => rows(page).count()).toBe(3);
    await expect.poll(() => page.locator("#attempts tbody tr").count()).toBe(3);
  });

  test("does not replace a form in use, and offers what has changed", async () => {
    const opened = await openInspector();
    const { page, register, send, deliveries } = opened;
    await register(refusing, "email.sent");
    await send();
    await visit(page, `/?item=${(await deliveries())[0]?.id}`);
    await page.locator("#edit > summary").click();
    const body = page.locator("#edit textarea");
    const original = await body.inputValue();
    await body.fill('{"mine": true}');
    await opened.sandbox.clock.advanceToNext();
    const offer = page.getByRole("button", { name: "Show changes" });
    await offer.waitFor();
    await opened.sandbox.clock.advanceToNext();
    await expect.poll(() => page.locator("#attempts tbody tr").count()).toBe(4);
    expect(await offer.count()).toBe(1);
    expect(await body.inputValue()).toBe('{"mine": true}');
    await offer.click();
    await offer.waitFor({ state: "detached" });
    expect(await body.inputValue()).toBe(original);
    await expect.poll(() => page.locator("[data-copy-from]").getAttribute("href")).toMatch(/\/3\//);
  });

  test("loads older calls by scrolling, and keeps at most 300", async () => {
    const opened = await openInspector();
    const { page } = opened;
    await read(opened, 450);
    await visit(page);
    expect(await rows(page).count()).toBe(100);
    expect(await page.locator("#more p").innerText()).toBe("100 of 450 calls shown");
    await page.evaluate(() => {
      const counts: number[] = [];
      Object.assign(globalThis, { counts });
      const list = document.querySelector("#calls");
      const note = () => counts.push(list?.childElementCount ?? 0);
      if (list) new MutationObserver(note).observe(list, { childList: true });
    });
    while (await page.locator("#older").count()) {
      const shown = await page.locator("#more p").innerText();
      const last = await rows(page).last().getAttribute("id");
      await page.evaluate(() => document.querySelector("#older")?.scrollIntoView());
      await expect.poll(() => rows(page).last().getAttribute("id")).not.toBe(last);
      expect(shown).toMatch(/^[123]00 of 450 calls shown$/);
    }
    expect(await rows(page).count()).toBe(300);
    expect(Math.max(...(await page.evaluate(() => Reflect.get(globalThis, "counts"))))).toBe(300);
    expect(await newer(page).textContent()).toBe("150 newer calls");
    await newer(page).click();
    await expect.poll(() => rows(page).count()).toBe(100);
    expect(await newer(page).isVisible()).toBe(false);
  });

  test("keeps what is read where it is while it drops rows far above", async () => {
    const opened = await openInspector();
    const { page } = opened;
    await read(opened, 350);
    await visit(page);
    for (const count of [200, 300]) {
      await page.evaluate(() => document.querySelector("#older")?.scrollIntoView());
      await expect.poll(() => rows(page).count()).toBe(count);
    }
    const last = (await rows(page).last().getAttribute("id")) ?? "";
    await page.evaluate(() => document.querySelector("#older")?.scrollIntoView({ block: "end" }));
    await expect.poll(() => newer(page).textContent()).toBe("50 newer calls");
    // The row was in view, above the link. Rows that scroll into view take their real height.
    const top = await topOf(page, last);
    expect(top).toBeGreaterThan(0);
    expect(top).toBeLessThan(900);
  });
});
