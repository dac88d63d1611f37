import { present } from "@svc-webhooks/kit/present";
import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { linesOf, open, openInspector } from "./support.js";

/**
 * Opens a sandbox with everything that the page can show: a delivery in each state, two endpoints, a domain, faults and
 * a rejected call.
 */
async function full() {
  const opened = await open();
  const { sandbox, call, register, send } = opened;
  const statuses = [500, 200, 404];
  sandbox.deliverTo(() => new Response("{}", { status: statuses.shift() ?? 500 }));
  await register("http://localhost:3000/webhooks");
  const { id } = await register("http://localhost:3001/", ["domain.updated"]);
  await call("POST /v1/domains", { domain_name: "mail.example.test" });
  const fault = { target: "POST /v1/emails", kind: "status", status: 429 };
  await send({ subject: "first" });
  await sandbox.clock.advance(0);
  await call("POST faults", fault);
  await send({ subject: "second" }).catch(() => {});
  await call(`POST endpoints/${id}/archive`);
  const { data } = await call("GET timeline");
  const calls = data.map((one) => one.id);
  const { send: email, events } = present(data.find((one) => one.send));
  const deliveries = await opened.deliveries();
  const source = present(events[0]).id;
  return { ...opened, items: [...calls, email.id, source, ...deliveries.map((one) => one.id)] };
}

const places = ["#base-url", "#clock", "#health", "#timeline > *", "#detail > *", "#setup > *"];

/**
 * Returns the page's text with every disclosure open. The key hints, the filter button that they replace, and the
 * buttons that copy a body, are left out.
 */
async function textOf(page: Page): Promise<readonly string[]> {
  await page.locator("details").evaluateAll((menus: HTMLDetailsElement[]) => {
    for (const menu of menus) menu.open = true;
  });
  await page.locator("kbd, #filter button, [data-from]").evaluateAll((only) => {
    for (const element of only) element.remove();
  });
  return (await Promise.all(places.map((place) => linesOf(page.locator(place))))).flat();
}

describeWithBrowser("the page without JavaScript", () => {
  test("reads as completely as with it, in each view", async () => {
    const opened = await full();
    const item = opened.items.at(-1);
    const filters = ["", "?state=failed", "?q=first&type=email.sent", "?q=none", "?item=dlv_none"];
    const views = [
      ...filters.map((query) => `/${query}`),
      ...opened.items.map((id) => `/?item=${id}`),
      `/?item=${item}&attempt=1&full=true`,
    ];
    // The server writes times with a tenth of a second, as the script does.
    const scripted = await openInspector(opened, "/", { reducedMotion: "no-preference" });
    const plain = await openInspector(opened, "/", { javaScriptEnabled: false });
    for (const view of views) {
      await scripted.goto(view);
      await plain.goto(view);
      await scripted.locator("body.scripted").waitFor();
      // Once the script runs, the clock is shown without tenths of a second.
      const normal = (lines: readonly string[]) =>
        lines.map((line) => line.replace(/(\d\d:\d\d:\d\d)\.\d /, "$1 "));
      const [text, expected] = [await textOf(plain), await textOf(scripted)];
      expect({ view, text: normal(text) }).toEqual({ view, text: normal(expected) });
      expect(await plain.locator("[data-copy]:visible, #live:visible").count()).toBe(0);
      await plain.locator("noscript p").waitFor();
    }
  });

  test("filters, pages and opens by links and forms alone", async () => {
    const opened = await full();
    const page = await openInspector(opened, "/", { javaScriptEnabled: false });
    await page.getByLabel("Text, id or code").fill("first");
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    expect(await linesOf(page.locator("#calls .tree > li:first-child .name"))).toEqual(["first"]);
    await page.locator("#states a", { hasText: "Retrying" }).click();
    await page.locator("#calls .chip.wait").first().click();
    expect(new URL(page.url()).hash).toBe("#detail");
    await page.getByRole("link", { name: "Attempt 1", exact: true }).click();
    await page.getByRole("heading", { name: "Signature of attempt 1" }).waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      q: "first",
      state: "waiting",
      attempt: "1",
    });
    await page.getByLabel("Text, id or code").fill("none");
    await page.getByLabel("Text, id or code").press("Enter");
    expect(new URL(page.url()).searchParams.get("state")).toBe("waiting");
    await page.getByRole("link", { name: "Clear the filter", exact: true }).click();
    expect(await page.locator("#calls > li").count()).toBe(3);
  });

  test("reloads itself only if this was requested", async () => {
    const opened = await full();
    const page = await openInspector(opened, "/", { javaScriptEnabled: false });
    expect(await page.locator("meta[http-equiv=refresh]").count()).toBe(0);
    await page.getByRole("link", { name: "reload every 5 seconds" }).click();
    expect(await page.locator("meta[http-equiv=refresh]").getAttribute("content")).toBe("5");
    await page.getByRole("link", { name: "Stop that" }).click();
    expect(await page.locator("meta[http-equiv=refresh]").count()).toBe(0);
  });
});
