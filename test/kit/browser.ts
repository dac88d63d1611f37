import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { chromiumPath, launchChromium } from "./chromium.js";
import { watchPages } from "./page-problems.js";
import { describeRequiring } from "./requiring.js";

/** `describe` for tests that need a browser. */
export const describeWithBrowser: ReturnType<typeof describeRequiring> = describeRequiring(
  "chromium",
  chromiumPath !== undefined,
);

let launched: Promise<Browser> | undefined;

/** Returns the browser of this process, which ends with the process. A browser that was lost is replaced. */
async function sharedBrowser(): Promise<Browser> {
  const browser = await (launched ??= launchChromium());
  if (browser.isConnected()) return browser;
  launched = undefined;
  return sharedBrowser();
}

export interface PageOptions extends Pick<
  BrowserContextOptions,
  | "colorScheme"
  | "deviceScaleFactor"
  | "forcedColors"
  | "javaScriptEnabled"
  | "reducedMotion"
  | "viewport"
> {
  /** Problems that this test expects: the patterns of their lines. Default: none. */
  readonly allow?: readonly RegExp[] | undefined;
  /** The browser. Default: one that all files of a process share. */
  readonly browser?: Browser | undefined;
}

/**
 * Opens an empty page in a context of its own until the test ends: `page.goto("/?item=…")` opens a path of the
 * origin. `page.context().newPage()` opens another tab. By default, it is 1440 × 900 px, light, in UTC, and with reduced motion.
 *
 * The test fails at its end if a page of the context has written an error or a warning to the console, has
 * thrown an uncaught error, or has sent a request to another origin. `allow` lists exceptions.
 *
 * @param origin `http://127.0.0.1:4010`
 */
export async function openPage(origin: string, options: PageOptions = {}): Promise<Page> {
  const { allow, browser = await sharedBrowser(), ...chosen } = options;
  const context = await browser.newContext({
    baseURL: origin,
    viewport: { width: 1440, height: 900 },
    timezoneId: "UTC",
    // An endless animation, which is drawn without a GPU, would take a tenth of a core for each open page.
    reducedMotion: "reduce",
    ...chosen,
  });
  // The limit is shorter than that of a test, so that the error names the missing element.
  context.setDefaultTimeout(300_000);
  const problems = watchPages(context, origin, allow);
  onTestFinished(async () => {
    await problems.settled();
    await context.close();
    expect(problems.found).toEqual([]);
  });
  return context.newPage();
}
