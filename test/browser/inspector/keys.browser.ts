import { present } from "@svc-webhooks/kit/present";
import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { lineOf, linesOf, open, openInspector } from "./support.js";

/** Opens a sandbox in which these emails' deliveries have failed and are waiting for a retry. */
async function busy(...subjects: readonly string[]) {
  const opened = await open();
  opened.sandbox.deliverTo(() => new Response(null, { status: 500 }));
  await opened.register("http://localhost:3000/webhooks", ["email.sent"]);
  for (const subject of subjects) await opened.send({ subject });
  await opened.sandbox.clock.advance(0);
  const deliveries = await opened.deliveries();
  return { ...opened, delivery: present(deliveries.at(-1)).id };
}

const focused = (page: Page, selector: string) => page.locator(`${selector}:focus`).waitFor();

const itemOf = (page: Page) => new URL(page.url()).searchParams.get("item") ?? "";

describeWithBrowser("the keys of the page", () => {
  test("move through the timeline and open its lines", async () => {
    const opened = await busy("first", "second");
    // The address of a form without a filter, at which nothing is selected.
    const page = await openInspector(opened, "/?type=");
    const rows = page.locator("#calls a.name");
    const focus = () => page.evaluate(() => document.activeElement?.textContent?.trim());
    const texts = await linesOf(rows);
    expect(texts.slice(0, 3)).toEqual(["POST /v1/emails", "second", "email.sent"]);
    for (const expected of texts.slice(0, 3)) {
      await page.keyboard.press("j");
      expect(await focus()).toBe(expected);
    }
    await page.keyboard.press("k");
    expect(await focus()).toBe("second");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "second", level: 2 }).waitFor();
    expect(itemOf(page)).toMatch(/^send_/);
    expect(await focus()).toBe("second");
  });

  test("act on the delivery that is shown", async () => {
    const opened = await busy("first");
    const page = await openInspector(opened, `/?item=${opened.delivery}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const heading = (n: number) =>
      page.getByRole("heading", { name: `Signature of attempt ${n}` }).waitFor();
    await page.keyboard.press("n");
    await heading(2);
    await page.keyboard.press(".");
    await heading(3);
    await page.keyboard.press("r");
    await heading(4);
    await page.keyboard.press("[");
    await heading(3);
    await page.keyboard.press("[");
    await heading(2);
    await page.keyboard.press("]");
    await heading(3);
    await page.keyboard.press("c");
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toMatch(/X-SVC-Attempt: 3'/);
    await page.keyboard.press("e");
    await focused(page, "#edit textarea");
    // In a text field, a key types its letter.
    await page.keyboard.press("n");
    await page.keyboard.press("Escape");
    await focused(page, "#edit summary");
    expect(await page.locator("#edit").evaluate((menu: HTMLDetailsElement) => menu.open)).toBe(
      false,
    );
    expect((await opened.call(`GET deliveries/${opened.delivery}`)).attempts).toHaveLength(4);
  });

  test("send an email, search, pause, and visit the set-up", async () => {
    const opened = await busy("first", "second");
    const page = await openInspector(opened);
    await page.keyboard.press("t");
    await page.locator("#notice", { hasText: "The email was accepted." }).waitFor();
    await page.keyboard.press("/");
    await focused(page, "#filter [name=q]");
    await page.keyboard.type("first");
    await expect.poll(() => linesOf(page.locator("#calls .tree .name"))).toContain("first");
    await page.waitForURL((url) => url.searchParams.get("q") === "first");
    await page.keyboard.press("Escape");
    await expect
      .poll(() => page.evaluate(() => document.activeElement === document.body))
      .toBe(true);
    for (const [key, id] of [
      ["1", "endpoints"],
      ["2", "faults"],
      ["3", "assumptions"],
      ["4", "domains"],
    ] as const) {
      await page.keyboard.press(key);
      await focused(page, `#${id}`);
    }
    await page.keyboard.press("p");
    expect(await page.locator("[data-live-text]").innerText()).toBe("Paused");
    await page.keyboard.press("p");
    expect(await page.locator("[data-live-text]").innerText()).toBe("Live");
  });

  test("are listed by ?, and can be switched off for good", async () => {
    const opened = await busy("first", "second");
    const page = await openInspector(opened);
    await page.keyboard.press("?");
    const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await list.waitFor();
    const shown = (await linesOf(list.locator("dt"))).flatMap((text) => text.split(" "));
    const keys = "j k Enter [ ] / Esc t n r e c . p 1 2 3 4 ?";
    expect(shown).toEqual(keys.split(" "));
    await list.getByLabel("Shortcuts are on").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "hidden" });
    await page.reload();
    await page.locator('.live[data-live="live"]').waitFor();
    await page.keyboard.press("t");
    await page.keyboard.press("j");
    expect(await lineOf(page.locator("#more p"))).toBe("2 of 2 calls shown");
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
  });
});
