import { axe } from "@svc-webhooks/kit/axe";
import { describeWithBrowser, openPage, type PageOptions } from "@svc-webhooks/kit/browser";
import { listen } from "@svc-webhooks/kit/servers";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { pageOf } from "../../tools/crash-test/src/report/page.js";
import type { ReportPage } from "../../tools/crash-test/src/report/report.js";
import {
  withFindings,
  withHostileTexts,
  withoutFinding,
} from "../../tools/crash-test/test/pages.js";

interface Shown {
  readonly page: Page;
  /** The paths that the page requested. */
  readonly requests: readonly string[];
}

async function show(data: ReportPage, options: PageOptions): Promise<Shown> {
  const requests: string[] = [];
  const port = await listen(({ url = "" }, response) => {
    requests.push(url);
    response.setHeader("content-type", "text/html");
    response.end(pageOf(data));
  });
  const page = await openPage(`http://127.0.0.1:${port}`, options);
  await page.goto("/");
  return { page, requests };
}

const pages = { "with findings": withFindings, "without a finding": withoutFinding };
const wide = { width: 1440, height: 900 };
const narrow = { width: 320, height: 640 };

const cases = Object.entries(pages).flatMap(([name, data]) =>
  [wide, narrow].flatMap((viewport) =>
    (["light", "dark"] as const).map(
      (colorScheme) => [name, viewport.width, colorScheme, data, viewport] as const,
    ),
  ),
);

const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describeWithBrowser("the page of a crash test", () => {
  test.each(cases)(
    "%s at %i px, %s, is accessible",
    async (_name, _width, colorScheme, data, viewport) => {
      const { page, requests } = await show(data, { colorScheme, viewport });
      await page.evaluate(() => {
        for (const details of document.querySelectorAll("details")) details.open = true;
      });
      expect(await axe(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      expect(requests).toEqual(["/"]);
    },
  );

  test.each([wide, narrow])("hostile texts change nothing at $width px", async (viewport) => {
    const { page, requests } = await show(withHostileTexts, { viewport });
    expect(await page.locator("script, img").count()).toBe(0);
    expect(await overflow(page)).toBe(0);
    expect(await axe(page)).toEqual([]);
    expect(requests).toEqual(["/"]);
  });

  test("a cell of the grid opens its history, with the keyboard and without a script", async () => {
    const { page } = await show(withFindings, { javaScriptEnabled: false });
    const history = page.locator("#crash-4");
    expect(await history.isVisible()).toBe(false);
    await page.locator('td a[href="#crash-4"]').focus();
    await page.keyboard.press("Enter");
    await history.waitFor({ state: "visible" });
    expect(await page.locator("details[open]").count()).toBe(1);
  });

  test("the undisturbed history is next to the other one if there is room", async () => {
    const { page } = await show(withFindings, { viewport: wide });
    const placesOf = () =>
      page
        .locator(".finding >> nth=0 >> .side")
        .evaluateAll((sides) => sides.map((side) => side.getBoundingClientRect().top));
    const [left, right] = await placesOf();
    expect(right).toBe(left);
    await page.setViewportSize(narrow);
    const [upper, lower] = await placesOf();
    expect(lower).toBeGreaterThan(Number(upper));
  });

  test("the focus is visible", async () => {
    const { page } = await show(withFindings, {});
    await page.keyboard.press("Tab");
    const outline = await page
      .locator(":focus-visible")
      .evaluate((element) => getComputedStyle(element).outlineStyle);
    expect(outline).toBe("solid");
  });

  test("print is light, and nothing in it scrolls", async () => {
    const { page } = await show(withFindings, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    const [scheme, scrolls] = await page.evaluate(() => [
      getComputedStyle(document.documentElement).colorScheme,
      Array.from(document.querySelectorAll(".scroll"), (box) => getComputedStyle(box).overflowX),
    ]);
    expect(scheme).toBe("light");
    expect(new Set(scrolls)).toEqual(new Set(["visible"]));
  });
});
