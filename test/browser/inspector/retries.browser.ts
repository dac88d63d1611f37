import { present } from "@svc-webhooks/kit/present";
import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { lineOf, linesOf, open, openInspector, type Opened } from "./support.js";

const start = Date.parse("2026-11-22T10:00:00Z");

/** Opens a sandbox with one email delivery. Its receiver responds with these statuses, then with 200. */
async function retrying(
  statuses: readonly number[],
  options: SandboxOptions = { clock: { mode: "manual", start } },
) {
  const opened = await open(options);
  const left = [...statuses];
  opened.sandbox.deliverTo(() => new Response(null, { status: left.shift() ?? 200 }));
  await opened.register("http://localhost:3000/webhooks", ["email.sent"]);
  await opened.send();
  await opened.sandbox.clock.advance(0);
  const { id } = present((await opened.deliveries())[0]);
  return { ...opened, id: id };
}

const openDelivery = (opened: Opened & { readonly id: string }) =>
  openInspector(opened, `/?item=${opened.id}`, { reducedMotion: "no-preference" });

const chips = (page: Page) => page.locator("#calls ol.track .chip");

/** Waits until the delivery's last chip has this text. */
const untilLast = (page: Page, text: string) =>
  page.locator("#calls ol.track > li:last-child .chip", { hasText: text }).waitFor();

const sha256 = (page: Page) => page.locator("#request .sub code").innerText();

describeWithBrowser("a delivery that is retried", () => {
  test("makes its attempts by Run now and To next retry, all with the same bytes", async () => {
    const opened = await retrying([500, 500]);
    const page = await openDelivery(opened);
    expect(await linesOf(chips(page))).toEqual(["1 failed: 500", "2 waiting: in 1.0 s"]);
    expect(await lineOf(page.locator(".next p"))).toBe(
      "Attempt 2 of 5 starts in 1.0 s at 10:00:01.000 A-09",
    );

    await page.getByRole("button", { name: "To next retry" }).click();
    await untilLast(page, "in 5.0 s");
    expect(await page.locator("#clock time").innerText()).toBe("10:00:01");
    expect(await lineOf(page.locator(".next p"))).toBe(
      "Attempt 3 of 5 starts in 5.0 s at 10:00:06.000 A-09",
    );

    await page.getByRole("button", { name: "Run now" }).click();
    await untilLast(page, "200");
    expect(await linesOf(chips(page))).toEqual([
      "1 failed: 500",
      "2 failed: 500",
      "3 succeeded: 200",
    ]);
    await page.locator("#attempts tbody tr:nth-child(3).sel").waitFor();
    // The attempt was made without moving the clock.
    expect(await page.locator("#clock time").innerText()).toBe("10:00:01");
    expect(await page.locator(".next").count()).toBe(0);
    expect(await page.title()).toMatch(/^200 · email\.sent/);

    const digests = new Set<string>();
    for (const n of [1, 2, 3]) {
      await page.getByRole("link", { name: `Attempt ${n}`, exact: true }).click();
      await page.getByRole("heading", { name: `Signature of attempt ${n}` }).waitFor();
      digests.add(await sha256(page));
    }
    expect(Array.from(digests)).toEqual([expect.stringMatching(/^[\da-f]{64}$/)]);
  });

  test("leaves attempts out by Skip, and has failed after the last one", async () => {
    const opened = await retrying([500]);
    const page = await openDelivery(opened);
    for (const [last, at] of [
      [4, "10:00:06.000"],
      [3, "10:00:21.000"],
      [2, "10:01:21.000"],
    ] as const) {
      await page.getByRole("button", { name: "Skip" }).click();
      await page.locator(".next p", { hasText: at }).waitFor();
      expect(await lineOf(page.locator(".next p"))).toContain(`Attempt 2 of ${last} `);
      expect(await linesOf(chips(page))).toHaveLength(2);
    }
    await page.getByRole("button", { name: "Skip" }).click();
    await page.locator(".next").waitFor({ state: "detached" });
    expect(await linesOf(chips(page))).toEqual(["1 failed: 500"]);
    await page.locator("#states [data-count=failed]", { hasText: /^1$/ }).waitFor();
    const [delivery] = await opened.deliveries();
    expect(delivery?.state).toBe("failed");
  });

  test("counts down as the clock is moved", async () => {
    const opened = await retrying([500, 500]);
    await opened.sandbox.clock.advance(1_000);
    const page = await openDelivery(opened);
    await untilLast(page, "in 5.0 s");
    await page.getByRole("button", { name: "+1 s" }).click();
    await untilLast(page, "in 4.0 s");
    await page.locator(".next b", { hasText: "starts in 4.0 s" }).waitFor();
    await page.getByRole("button", { name: "+1 min" }).click();
    await untilLast(page, "200");
    expect(await page.locator(".next").count()).toBe(0);
  });

  test("counts down in real time", async () => {
    const opened = await retrying([500], { clock: "real", assumptions: { "A-09": "30s" } });
    const page = await openDelivery(opened);
    const seen = await page.locator("#calls").evaluate(
      (calls) =>
        new Promise<number[]>((resolve) => {
          const found: number[] = [];
          const observer = new MutationObserver(() => {
            const text = calls.querySelector(".chip.wait [data-due]")?.textContent ?? "";
            const left = Number.parseFloat(text.replace(/^\D+/, ""));
            if (left !== found.at(-1)) found.push(left);
            if (found.length === 10) resolve(found);
          });
          observer.observe(calls, { childList: true, characterData: true, subtree: true });
        }),
    );
    expect(seen).toEqual(seen.toSorted((one, other) => other - one));
    expect(new Set(seen).size).toBe(10);
    await page.getByRole("button", { name: "Run now" }).click();
    await untilLast(page, "200");
  });

  test("shows an attempt in real time when it has been made", async () => {
    const opened = await retrying([500], { clock: "real", assumptions: { "A-09": "1s" } });
    const page = await openDelivery(opened);
    await untilLast(page, "200");
    const [delivery] = await opened.deliveries();
    const [first, second] = present(delivery).attempts.map((one) => Date.parse(one.started_at));
    expect(present(second) - present(first)).toBeGreaterThanOrEqual(1_000);
  });
});
