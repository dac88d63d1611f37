import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import { expect, test } from "vitest";
import { openInspector, refusing, visit } from "./service.js";

/** Opens the newest failure of a sandbox whose receiver cannot be reached. */
async function openFailure(width: number) {
  const opened = await openInspector({ viewport: { width, height: 844 } });
  await opened.register(refusing);
  await opened.send();
  await visit(opened.page);
  return opened;
}

describeWithBrowser("the layout", () => {
  test("opens with the newest failure, until something else is selected", async () => {
    const { page, deliveries } = await openFailure(1280);
    const [newest] = await deliveries();
    expect(new URL(page.url()).searchParams.get("item")).toBe(newest?.id);
    await expect(page.locator("#h-detail").innerText()).resolves.toContain(newest?.type);
  });

  test("keeps each button of a delivery where it is while another one is open", async () => {
    const { page } = await openFailure(1280);
    const buttons = page.locator("#actions > form > button, #actions summary, #actions > a");
    const places = () =>
      buttons.evaluateAll((all) =>
        all.map((one) => {
          const { x, y, width, height } = one.getBoundingClientRect();
          return [one.textContent, x + scrollX, y + scrollY, width, height];
        }),
      );
    const closed = await places();
    expect(closed).toHaveLength(5);
    for (const id of ["edit", "copies", "tamper"]) {
      await page.locator(`#${id} > summary`).click();
      await page.locator(`#${id} form`).waitFor();
      expect(await places()).toEqual(closed);
    }
  });

  test("shows all columns of the attempts on a narrow screen", async () => {
    const { page } = await openFailure(390);
    const cut = await page.locator("#attempts .scroll").evaluate((scroll) => ({
      table: scroll.scrollWidth - scroll.clientWidth,
      page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    }));
    expect(cut).toEqual({ table: 0, page: 0 });
  });

  test("has one line for each row of the timeline, and all text of the selected one", async () => {
    const { page, sandbox, register, send } = await openInspector({
      viewport: { width: 1280, height: 844 },
    });
    sandbox.deliverTo(() => Response.json({ status: "processed" }));
    await register("http://localhost:3000/webhooks/mail");
    await send({ subject: "A subject that is too long for one line. ".repeat(5) });
    await visit(page);
    const call = page.locator("#calls > li");
    await call.locator(".chip.ok").nth(1).waitFor();
    const rows = call.locator(".call, .node");
    const heights = () => rows.evaluateAll((all) => all.map((row) => row.clientHeight));
    const lines = await heights();
    expect(lines).toHaveLength(4);
    expect(Math.max(...lines)).toBeLessThanOrEqual(28);
    const icons = await rows.evaluateAll((all) =>
      all.map((row) => row.querySelector("use")?.getAttribute("href")),
    );
    expect(new Set(icons).size).toBe(4);
    const name = rows.nth(1).locator(".name");
    const isCut = () => name.evaluate((link) => link.scrollWidth > link.clientWidth);
    expect(await isCut()).toBe(true);
    await name.click();
    await expect.poll(isCut).toBe(false);
    expect((await heights())[1]).toBeGreaterThan(28);
  });

  test("has the buttons of the clock behind one button on a narrow screen", async () => {
    const { page } = await openFailure(390);
    const next = page.getByRole("button", { name: "To next retry" });
    expect(await next.isVisible()).toBe(false);
    await page.locator("#clock-mode > summary").click();
    await next.click();
    await expect.poll(() => page.locator("#attempts tbody tr").count()).toBe(3);
  });

  test("scrolls the page and, next to it, only the detail", async () => {
    const { page } = await openFailure(1440);
    const scrolling = await page.evaluate(() =>
      [...document.querySelectorAll(".app, .app > *, .panel")]
        .filter((box) => getComputedStyle(box).overflowY !== "visible")
        .map(({ id }) => id),
    );
    expect(scrolling).toEqual(["detail"]);
  });
});
