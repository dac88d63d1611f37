import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openInspector, visit } from "./service.js";

/** Opens the page with a delivery in each state. */
async function openStates(options: Parameters<typeof openInspector>[0] = {}) {
  const opened = await openInspector(options);
  const { sandbox, register, send } = opened;
  let status = 200;
  sandbox.deliverTo(() =>
    status === 0 ? new Promise(() => {}) : new Response("body", { status }),
  );
  await register("http://localhost:3000/webhooks", "email.sent");
  await send();
  status = 500;
  await send();
  await sandbox.clock.advance(30 * 86_400_000);
  await send();
  status = 0;
  await visit(opened.page);
  // Not awaited, because this attempt never ends.
  void send();
  await opened.page.locator(".chip.half").waitFor();
  return opened;
}

/** Returns each element's icon, and its text without numbers. */
const shapes = (page: Page, selector: string): Promise<readonly (readonly [string, string])[]> =>
  page.locator(selector).evaluateAll((all) =>
    all.map((one) => {
      const words = (one.textContent ?? "").replaceAll(/[\d.,–×]+|\bin\b|\bs\b/g, " ");
      const drawing = one.querySelector("use")?.getAttribute("href") ?? "";
      return [drawing, words.replaceAll(/\s+/g, " ").trim()] as const;
    }),
  );

const unique = (pairs: readonly (readonly [string, string])[]) =>
  Array.from(new Map(pairs.map((pair) => [pair.join(), pair])).values()).toSorted(([a], [b]) =>
    a.localeCompare(b),
  );

describeWithBrowser("what the page shows", () => {
  test("has a shape and a word for each state, so that it needs no color", async () => {
    const { page, deliveries } = await openStates();
    expect(unique(await shapes(page, "#calls .chip"))).toEqual([
      ["#i-bad", "failed:"],
      ["#i-half", "sending"],
      ["#i-none", "not sent: no endpoint subscribes to it"],
      ["#i-ok", "succeeded:"],
      ["#i-wait", "waiting:"],
    ]);
    expect(unique(await shapes(page, "#states a:has(svg)"))).toEqual([
      ["#i-bad", "Failed"],
      ["#i-half", "Sending"],
      ["#i-none", "Not sent"],
      ["#i-ok", "Succeeded"],
      ["#i-wait", "Retrying"],
    ]);
    const waiting = (await deliveries()).find(({ state }) => state === "pending");
    await visit(page, `/?item=${waiting?.id}`);
    expect(unique(await shapes(page, "#attempts tbody td:nth-child(4)"))).toEqual([
      ["#i-bad", ""],
      ["#i-wait", "waiting"],
    ]);
  });

  test("stands still where its user wants less motion", async () => {
    const motion = async (reducedMotion: "reduce" | "no-preference") => {
      const { page, sandbox, register, send } = await openInspector(
        { reducedMotion },
        { clock: { mode: "accelerated", speed: 0.001 } },
      );
      sandbox.deliverTo(() => new Response("no", { status: 500 }));
      await register("http://localhost:3000/webhooks", "email.sent");
      await send();
      await visit(page);
      const chip = page.locator(".chip.wait time");
      await chip.waitFor();
      return {
        animations: await page.evaluate(() => document.getAnimations().length),
        countdown: await chip.textContent(),
      };
    };
    expect(await motion("reduce")).toEqual({
      animations: 0,
      countdown: expect.stringMatching(/^\d+ s$/),
    });
    expect(await motion("no-preference")).toEqual({
      animations: 1,
      countdown: expect.stringMatching(/^\d\.\d s$/),
    });
  });

  test("is spoken of at most once in 5 s under 100 deliveries a second", async () => {
    const { page, sandbox, register, send } = await openInspector(
      {},
      { assumptions: { "A-10": "stop:400" } },
    );
    sandbox.deliverTo(() => new Response("no", { status: 400 }));
    for (let n = 0; n < 50; n += 1) await register(`http://localhost:3000/${n}`);
    await page.clock.install();
    await visit(page);
    await page.evaluate(() => {
      const sentences: string[] = [];
      Object.assign(globalThis, { sentences });
      const status = document.querySelector("#status");
      if (status)
        new MutationObserver(() => sentences.push(status.textContent)).observe(status, {
          childList: true,
        });
    });
    const count = page.locator("[data-count=deliveries]");
    for (let second = 1; second <= 30; second += 1) {
      await send();
      await expect
        .poll(async () => {
          await page.clock.runFor(100);
          return count.textContent();
        })
        .toBe((100 * second).toLocaleString("en"));
      await page.clock.runFor(500);
    }
    const { sentences, seconds } = await page.evaluate(() => ({
      sentences: Reflect.get(globalThis, "sentences") as string[],
      seconds: performance.now() / 1_000,
    }));
    expect(sentences.length).toBeGreaterThan(0);
    expect(sentences.length).toBeLessThanOrEqual(Math.ceil(seconds / 5));
  });
});
