import { present } from "@svc-webhooks/kit/present";
import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { refusing } from "./service.js";
import { lineOf, open, openInspector } from "./support.js";

const whole = (page: Page) => page.locator("#secret .whole");

/** Opens a sandbox with one delivery, to which its receiver responded with `status`. */
async function delivered(status: number) {
  const opened = await open();
  opened.sandbox.deliverTo(() => new Response(null, { status }));
  await opened.register(refusing, ["email.sent"]);
  await opened.send();
  await opened.sandbox.clock.advance(0);
  const { id } = present((await opened.deliveries())[0]);
  return { ...opened, id: id };
}

const rotate = (page: Page, id: string) =>
  page.locator(`#${id}`).getByRole("button", { name: "Rotate secret" }).click();

describeWithBrowser("the result of an action", () => {
  test("is the newest secret, although another one was shown", async () => {
    const opened = await open();
    const { id } = await opened.register(refusing);
    const page = await openInspector(opened);
    await rotate(page, id);
    const first = await lineOf(whole(page));
    await rotate(page, id);
    await page.waitForFunction(
      (old) => document.querySelector("#secret .whole")?.textContent !== old,
      first,
    );
    const { data } = await opened.call("GET endpoints");
    expect((await lineOf(whole(page))).slice(-4)).toBe(data[0]?.secret_hint.slice(1));
    // The secret stays when something else changes.
    await opened.register(`${refusing}/other`);
    await page.locator("#endpoints .stale").waitFor();
    expect(await whole(page).count()).toBe(1);
  });

  test("appears next to a form in use, whose text stays", async () => {
    const opened = await open();
    const { id } = await opened.register(refusing);
    const page = await openInspector(opened);
    await page.getByText("New endpoint", { exact: true }).click();
    const url = page.locator("#new-endpoint [name=url]");
    await url.fill("http://localhost:3000/typed");
    await rotate(page, id);
    await whole(page).waitFor();
    expect(await url.inputValue()).toBe("http://localhost:3000/typed");
  });

  test("stays when a retry changes what it is about", async () => {
    const { id, ...opened } = await delivered(401);
    const page = await openInspector(opened, `/?item=${id}`);
    await page.locator("#mine").fill("sha256=00");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator("[data-mistake]").waitFor();
    await opened.sandbox.clock.advanceToNext();
    await page.locator("#signature .stale").waitFor();
    expect(await page.locator("[data-mistake]").count()).toBe(1);
    await page.locator("#signature .stale").click();
    await page.locator("#h-signature", { hasText: "attempt 2" }).waitFor();
  });

  test("is a refusal with the text that was typed, also if the form is too long", async () => {
    const { id, ...opened } = await delivered(200);
    const page = await openInspector(opened, `/?item=${id}`, { allow: [/413/] });
    await page.getByText("Edit and send…").click();
    await page.locator("#edit textarea").fill('"'.repeat(1_500_000));
    await page.getByRole("button", { name: "Send the edited body" }).click();
    await page.locator("#edit .refused", { hasText: "4194304 bytes" }).waitFor();
    expect((await page.locator("#edit textarea").inputValue()).length).toBe(1_500_000);
  });

  test("is a sentence if the sandbox does not respond", async () => {
    const opened = await open();
    const page = await openInspector(opened, "/", { allow: [/ERR_/] });
    await page.context().setOffline(true);
    await page.locator("#test-email button").first().click();
    expect(await lineOf(page.locator("#test-email .refused"))).toBe("The sandbox did not respond.");
  });
});

describeWithBrowser("the list of calls", () => {
  test("has nothing of before a reset, whatever is shown", async () => {
    const opened = await open();
    for (let n = 0; n < 5; n += 1) await opened.send();
    const { data } = await opened.call("GET timeline");
    const page = await openInspector(opened, `/?item=${data[2]?.id}`);
    await Promise.all([opened.call("POST reset"), opened.send({ subject: "After it" })]);
    await page.locator("#calls .name", { hasText: "After it" }).waitFor();
    await expect.poll(() => page.locator("#calls > li").count()).toBe(1);
  });

  test("keeps calls of one time on all its pages", async () => {
    const opened = await open();
    for (let n = 0; n < 150; n += 1) await opened.send();
    const page = await openInspector(opened);
    await page.evaluate(() => document.querySelector("#older")?.scrollIntoView());
    await expect.poll(() => page.locator("#calls > li").count()).toBe(150);
    await page.getByRole("button", { name: "+1 s" }).click();
    await page.locator("#notice", { hasText: "The clock" }).waitFor();
    expect(await page.locator("#calls > li").count()).toBe(150);
  });

  test("ends where a link leads", async () => {
    const { id, ...opened } = await delivered(200);
    const page = await openInspector(opened, `/?item=${id}#request`, {
      viewport: { width: 360, height: 640 },
    });
    expect(new URL(page.url()).hash).toBe("#request");
    await expect
      .poll(() => page.locator("#request").evaluate((one) => one.getBoundingClientRect().top))
      .toBeLessThan(640);
  });
});
