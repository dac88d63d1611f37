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
});
