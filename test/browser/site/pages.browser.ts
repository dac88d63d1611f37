import { readFileSync } from "node:fs";
import { join } from "node:path";
import { axe } from "@svc-webhooks/kit/axe";
import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { root } from "@svc-webhooks/kit/programs";
import type { Page } from "playwright-core";
import { eachNth, ends } from "@svc-webhooks/kit/sized";
import { expect, test } from "vitest";
import { redirects } from "../../../site/redirects.js";
import { builtSite, pagesIn, samplesIn, serveSite } from "./site.js";

const widths = [1440, 390] as const;
const schemes = ["light", "dark"] as const;

const kinds = {
  "the landing page": "/",
  "the page that explains signatures": "/explain",
  "a long table": "/docs/benchmarks",
  "a page with a picture": "/docs/why",
  "a package": "/packages/core/",
  "the API": "/api/core/",
  "a missing page": "/does-not-exist",
} as const;

/** The line that Chromium writes for the response to a missing page. */
const missing = /Failed to load resource: the server responded with a status of 404/;

/** Opens a page, and resolves when its scripts have taken over. */
async function show(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.waitForFunction(() => "__vue_app__" in (document.querySelector("#app") ?? {}));
}

const scrollsSideways = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

async function openSearch(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.locator("#localsearch-input").fill("signature");
  await page.locator("#localsearch-list .result").first().waitFor();
}

test("the API names each parameter", async () => {
  const site = await builtSite();
  const unnamed = pagesIn(site).filter((page) =>
    readFileSync(join(site, page)).includes("__named"),
  );
  expect(unnamed).toEqual([]);
});

describeWithBrowser("the pages of the site", () => {
  const cases = widths.flatMap((width) => schemes.map((colorScheme) => ({ width, colorScheme })));

  test.each(ends(cases))(
    "pass axe at $width px in $colorScheme",
    async ({ width, colorScheme }) => {
      const { origin } = await serveSite();
      const viewport = { width, height: 900 };
      const page = await openPage(origin, { viewport, colorScheme, allow: [missing] });
      for (const [kind, path] of Object.entries(kinds)) {
        await show(page, path);
        expect({ kind, violations: await axe(page) }).toEqual({ kind, violations: [] });
      }
      await show(page, "/docs/outcomes");
      await openSearch(page);
      expect(await axe(page)).toEqual([]);
    },
  );

  test("show no error, load nothing from elsewhere, and never scroll sideways at 390 px", async () => {
    const { origin } = await serveSite();
    const page = await openPage(origin, {
      viewport: { width: 390, height: 800 },
      allow: [missing],
    });
    const wide: string[] = [];
    const isOld = (file: string) => Object.hasOwn(redirects, file.replace(/\.html$/, ""));
    const files = samplesIn(await builtSite()).filter((file) => !isOld(file));
    for (const file of eachNth(files, 6)) {
      await show(page, `/${file.replace(/(?:index)?\.html$/, "")}`);
      if (await scrollsSideways(page)) wide.push(file);
    }
    expect(wide).toEqual([]);
  });

  test.each(Object.entries(kinds))("can be read without scripts: %s", async (_kind, path) => {
    const { origin } = await serveSite();
    const page = await openPage(origin, { javaScriptEnabled: false, allow: [missing] });
    await page.goto(path);
    await page.locator("h1").first().waitFor();
    const text = await page.locator("main").first().innerText();
    expect(text.length).toBeGreaterThan(100);
    const [link] = await page.locator("main a[href^='/']").all();
    const target = await link?.getAttribute("href");
    await page.goto(target ?? "");
    expect(await page.locator("h1").first().innerText()).not.toContain("does not exist");
  });

  test("the menu of a narrow screen takes the focus only while it is open", async () => {
    const { origin } = await serveSite();
    const page = await openPage(origin, { viewport: { width: 390, height: 800 } });
    await show(page, "/docs/why");
    const menu = page.getByRole("button", { name: "Menu", exact: true });
    const link = page.locator(".VPSidebar a").first();
    const isFocusable = () =>
      link.evaluate((element) => {
        (element as HTMLElement).focus();
        return document.activeElement === element;
      });
    expect(await isFocusable()).toBe(false);
    await menu.press("Enter");
    await page.locator(".VPSidebar.open").waitFor();
    expect(await isFocusable()).toBe(true);
  });

  test("the search returns the focus when it is closed", async () => {
    const { origin } = await serveSite();
    const page = await openPage(origin);
    await show(page, "/docs/why");
    const link = page.locator("main p a").first();
    await link.focus();
    await page.keyboard.press("Control+k");
    await page.locator("#localsearch-input:focus").waitFor();
    await page.keyboard.press("Escape");
    await expect
      .poll(() => link.evaluate((element) => document.activeElement === element))
      .toBe(true);
  });

  test("a missing page has the search and links that lead on", async () => {
    const { origin } = await serveSite();
    const page = await openPage(origin, { allow: [missing] });
    await show(page, "/docs/does-not-exist");
    await page.getByRole("heading", { name: "This page does not exist" }).waitFor();
    expect(await page.locator("main.not-found a").count()).toBe(3);
    await openSearch(page);
  });

  test("the landing page's code and its table are those of the pages", async () => {
    const { origin } = await serveSite();
    const page = await openPage(origin);
    await show(page, "/");
    const blocks = new Set(
      [
        "README.md",
        ...["hono", "next", "fastify", "nest", "koa", "lambda"].map(
          (name) => `docs/frameworks/${name}.md`,
        ),
      ].flatMap((file) =>
        Array.from(
          readFileSync(join(root, file), "utf8").matchAll(/^```[jt]s[^\n]*\n([^]*?)^```$/gm),
          ([, code = ""]) => code.trimEnd(),
        ),
      ),
    );
    const shown = await page.locator(".panel pre code").allTextContents();
    expect(shown).toHaveLength(7);
    expect(shown.filter((code) => !blocks.has(code.trimEnd()))).toEqual([]);
    const why = readFileSync(join(root, "docs/why.md"), "utf8").replaceAll(
      /[`*]|\]\([^)]*\)|\[/g,
      "",
    );
    const rows = await page.locator(".landing tbody tr").all();
    expect(rows).toHaveLength(4);
    for (const row of rows) {
      const cells = await row.locator("td").allTextContents();
      const has = (line: string) => cells.every((cell) => line.includes(cell.trim()));
      expect({ cells, isInThePage: why.split("\n").some(has) }).toMatchObject({
        isInThePage: true,
      });
    }
  });

  test("the landing page's tabs are chosen with the keyboard", async () => {
    const { origin } = await serveSite();
    const page = await openPage(origin);
    await show(page, "/");
    await page.getByRole("radio", { name: "Express" }).focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.locator(".panel-0").isVisible()).toBe(false);
    expect(await page.locator(".panel-1").innerText()).toContain("svc-webhooks/hono");
  });
});

describeWithBrowser("what a reader loads", () => {
  const kB = (responses: readonly { readonly bytes: number }[]) =>
    responses.reduce((sum, { bytes }) => sum + bytes, 0) / 1_000;

  test("the landing page takes 10 requests and 110 kB without pictures at most", async () => {
    const { origin, responses } = await serveSite();
    const page = await openPage(origin);
    await page.goto("/", { waitUntil: "networkidle" });
    expect(responses.length).toBeLessThanOrEqual(10);
    expect(kB(responses.filter(({ path }) => !path.endsWith(".webp")))).toBeLessThanOrEqual(110);
  });

  test.each(["/docs/why", "/docs/stores", "/docs/cli/", "/docs/outcomes"])(
    "%s takes 120 kB at most",
    async (path) => {
      const { origin, responses } = await serveSite();
      const page = await openPage(origin);
      await page.goto(path, { waitUntil: "networkidle" });
      expect(kB(responses)).toBeLessThanOrEqual(120);
    },
  );

  test("the search loads 125 kB of index at most, when it is opened", async () => {
    const { origin, responses } = await serveSite();
    const page = await openPage(origin);
    await show(page, "/docs/outcomes");
    expect(responses.filter(({ path }) => path.includes("localSearchIndex"))).toEqual([]);
    await openSearch(page);
    const index = responses.filter(({ path }) => path.includes("localSearchIndex"));
    expect(index).not.toEqual([]);
    expect(kB(index)).toBeLessThanOrEqual(125);
  });
});
