import { present } from "@svc-webhooks/kit/present";
import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openInspector, visit } from "./service.js";

const updates = 50;

/**
 * Opens a delivery that is waiting for its second attempt. Each `update` sends another copy of it and changes every
 * view that shows it.
 */
async function openDelivery() {
  const opened = await openInspector();
  const { sandbox, register, send, deliveries, page, call } = opened;
  sandbox.deliverTo(() => new Response("no", { status: 500 }));
  await register("http://localhost:3000/webhooks", "email.sent");
  await send();
  const { id } = present((await deliveries())[0]);
  await visit(page, `/?item=${id}`);
  const update = async () => {
    const { attempts } = present((await deliveries())[0]);
    await call(`POST /_sandbox/deliveries/${id}/send`, { times: 1 });
    await expect
      .poll(() => page.locator("[data-announce]").textContent())
      .toContain(`attempt ${attempts.length + 1} failed`);
  };
  return { ...opened, update };
}

/** Describes the focused element by details that stay the same when the element is replaced. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: active } = document;
    const part = active?.closest("[id]")?.parentElement?.closest("[id]")?.id;
    const caret = active instanceof HTMLTextAreaElement ? active.selectionStart : "";
    return `${part} ${active?.tagName} ${active?.textContent?.trim().slice(0, 20)} ${caret}`;
  });

const places = [
  { name: "a line of the timeline", selector: "#calls .tree a.name >> nth=1" },
  { name: "an attempt of a track", selector: "#calls .chip.bad >> nth=0" },
  { name: "a button of the next attempt", selector: "#about button:has-text('Skip')" },
  { name: "an attempt of the table", selector: "#attempts td a" },
  { name: "the table of attempts", selector: "#attempts .scroll" },
  { name: "a fold of the actions", selector: "#copies > summary" },
  { name: "a state of the filter", selector: "#states a >> nth=1" },
  { name: "the clock", selector: "#clock button:has-text('+1 min')" },
  { name: "a button that copies an id", selector: "#about button[data-copy]" },
  { name: "an endpoint", selector: ".rail button:has-text('Archive')" },
];

describeWithBrowser("the focus", () => {
  test(`survives ${updates} live updates, wherever it is`, async () => {
    const { page, update } = await openDelivery();
    for (let done = 0; done < updates; done += 1) {
      const { name, selector } = places[done % places.length] ?? { name: "", selector: "" };
      await page.locator(selector).first().focus();
      const before = await focused(page);
      await update();
      expect({ name, focused: await focused(page) }).toEqual({ name, focused: before });
    }
  });

  test(`and the caret stay in a field through ${updates} live updates`, async () => {
    const { page, update } = await openDelivery();
    await page.locator("#edit > summary").click();
    const body = page.locator("#edit textarea");
    await body.focus();
    await body.press("Home");
    await body.press("ArrowRight");
    const before = await focused(page);
    for (let done = 0; done < updates; done += 1) await update();
    expect(await focused(page)).toBe(before);
    expect(await page.locator("#edit").getAttribute("open")).not.toBeNull();
  });

  test.each([1600, 1300, 960, 320])("is never under the header: %d px", async (width) => {
    const { page, update } = await openDelivery();
    for (let done = 0; done < 5; done += 1) await update();
    await page.setViewportSize({ width, height: 600 });
    const covered: string[] = [];
    await page.locator(".rail summary").last().focus();
    let steps = 0;
    for (;;) {
      const place = await page.evaluate(() => {
        const { activeElement: active } = document;
        if (!active || active === document.body) return undefined;
        const box = active.getBoundingClientRect();
        const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        const isOver = hit?.closest("#header") && !active.closest("#header");
        return { isOver, name: `${active.tagName} ${active.textContent?.trim().slice(0, 30)}` };
      });
      if (!place) break;
      if (place.isOver) covered.push(place.name);
      steps += 1;
      await page.keyboard.press("Shift+Tab");
    }
    expect(steps).toBeGreaterThan(50);
    expect(covered).toEqual([]);
  });
});
