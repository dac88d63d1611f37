import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openInspector, visit } from "./service.js";

const light = "rgb(244, 245, 247)";
const dark = "rgb(14, 16, 19)";

const background = (page: Page) =>
  page.evaluate(() => getComputedStyle(document.body).backgroundColor);

const select = (page: Page) => page.getByRole("combobox", { name: "Color scheme" });

describeWithBrowser("the color scheme", () => {
  test("is the system's until another one is chosen by keyboard, and is remembered", async () => {
    const { page } = await openInspector({ colorScheme: "light" });
    await visit(page);
    expect(await background(page)).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await background(page)).toBe(dark);
    await page.emulateMedia({ colorScheme: "light" });
    await select(page).focus();
    for (const expected of [light, dark]) {
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => background(page)).toBe(expected);
    }
    await visit(page);
    expect(await background(page)).toBe(dark);
    expect(await select(page).inputValue()).toBe("dark");
    await select(page).selectOption("System");
    expect(await background(page)).toBe(light);
    await visit(page);
    expect(await background(page)).toBe(light);
  });

  test("is applied before the page's own script runs, so that no other is painted", async () => {
    const { page } = await openInspector({ colorScheme: "light" });
    await visit(page);
    await select(page).selectOption("Dark");
    const script = (await page.locator("script[type=module]").getAttribute("src")) ?? "";
    await page.route(`**${script}`, (route) =>
      route.fulfill({ contentType: "text/javascript", body: "" }),
    );
    await page.reload();
    expect(await page.locator("body.scripted").count()).toBe(0);
    expect(await background(page)).toBe(dark);
  });

  test("can be chosen where the browser denies access to its storage", async () => {
    const { page } = await openInspector({ colorScheme: "light" });
    await page.addInitScript(() =>
      Object.defineProperty(globalThis, "localStorage", {
        get() {
          throw new DOMException("Access is denied.", "SecurityError");
        },
      }),
    );
    await visit(page);
    expect(await background(page)).toBe(light);
    await select(page).selectOption("Dark");
    expect(await background(page)).toBe(dark);
  });

  test("is the system's where scripts are off, without a control", async () => {
    const { page } = await openInspector({ colorScheme: "dark", javaScriptEnabled: false });
    await page.goto("/");
    expect(await background(page)).toBe(dark);
    expect(await page.locator("#scheme").isVisible()).toBe(false);
  });
});
