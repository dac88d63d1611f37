import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openPage, type PageOptions } from "@svc-webhooks/kit/browser";
import { launchChromium } from "@svc-webhooks/kit/chromium";
import { until } from "@svc-webhooks/kit/until";
import type { Sandbox } from "@svc-webhooks/sandbox";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { expect, onTestFinished, test } from "vitest";
import { busyOptions, makeBusy, type BusyWorld } from "./busy-world.js";
import { takes, timedSandbox } from "./timed-sandbox.js";

const folder = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));

/** The sandbox's default address. The browser maps it to the actual port. */
const address = "127.0.0.1:4010";
const origin = `http://${address}`;

/** The maximum size of a picture, in bytes. Two of them are in the repository. */
const mostBytes = 150_000;

async function open(options: PageOptions): Promise<{ sandbox: Sandbox; page: Page }> {
  const sandbox = await timedSandbox({ ...busyOptions, allowHosts: [address] });
  onTestFinished(() => sandbox.close());
  const { port } = await sandbox.listen(0);
  const browser = await launchChromium({ addresses: { [address]: `127.0.0.1:${port}` } });
  onTestFinished(() => browser.close());
  const page = await openPage(origin, { browser, deviceScaleFactor: 1.5, ...options });
  return { sandbox, page };
}

/** Opens an address, and resolves when the page is connected to its stream of changes. */
async function show(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator("#header [data-live=live]").waitFor();
}

/** Opens the page on the failed attempt in a busy world. */
async function openBusy(options: PageOptions): Promise<{ page: Page; world: BusyWorld }> {
  const { sandbox, page } = await open(options);
  const world = await makeBusy(sandbox, origin, takes);
  await show(page, `/?item=${world.failing}&attempt=3`);
  return { page, world };
}

/** Takes a screenshot once the page has stopped changing, writes it to a file, and returns the file's size in bytes. */
async function write(page: Page, name: string): Promise<number> {
  // Moves the mouse away from the last click.
  await page.mouse.move(0, 0);
  await page.evaluate(() => scrollTo(0, 0));
  const shot = () => page.screenshot({ animations: "disabled", caret: "hide" });
  let picture = await shot();
  const isStill = async () => {
    const last = picture;
    picture = await shot();
    return picture.equals(last);
  };
  await until(isStill, "the page stands still");
  // Half the bytes of a PNG of the same size: the landing page of the site and README.md load one.
  const file = await sharp(picture)
    .resize({ width: 1200, withoutEnlargement: true })
    .webp({ quality: 80 })
    .toBuffer();
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}inspector-${name}.webp`, file);
  return file.length;
}

const wide = { viewport: { width: 1440, height: 1240 } };

test("inspector-busy.webp shows a delivery that fails", async () => {
  const { page } = await openBusy(wide);
  expect(await write(page, "busy")).toBeLessThan(mostBytes);
});

test("inspector-dark.webp shows it in the dark scheme", async () => {
  const { page } = await openBusy({ ...wide, colorScheme: "dark" });
  expect(await write(page, "dark")).toBeLessThan(mostBytes);
});

test("inspector-explained.webp names the mistake behind a signature", async () => {
  const { page, world } = await openBusy(wide);
  const signature = page.locator("#signature");
  await signature.locator("[name=value]").fill(world.reserialized);
  await signature.getByRole("button", { name: "Explain" }).click();
  await signature.locator("[data-mistake=reserialized_json]").waitFor();
  expect(await write(page, "explained")).toBeLessThan(mostBytes);
});

test("inspector-narrow.webp is 360 px wide", async () => {
  const { page } = await openBusy({ viewport: { width: 360, height: 1500 } });
  expect(await write(page, "narrow")).toBeLessThan(mostBytes);
});

test("inspector-empty.webp shows a sandbox that has just been started", async () => {
  const { page } = await open({ viewport: { width: 1440, height: 760 } });
  await show(page, "/");
  expect(await write(page, "empty")).toBeLessThan(mostBytes);
});
