import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import { present } from "@svc-webhooks/kit/present";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openInspector, visit } from "./service.js";

/** Text with characters that are invisible, or that markup would change. */
const text = '\ufeff{"a": "\u202e\u200b<b>&amp;\u001b\u2028"}\r\n\n';

/** Opens a delivery to which the receiver has responded with this body. */
async function openResponse(body: BodyInit, options: Parameters<typeof openInspector>[0] = {}) {
  const opened = await openInspector(options);
  opened.sandbox.deliverTo(() => new Response(body, { status: 500 }));
  await opened.register("http://localhost:3000/webhooks", "email.sent");
  await opened.send({ text });
  const [delivery] = await opened.deliveries();
  return { ...opened, item: `/?item=${present(delivery).id}` };
}

const copyOf = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

describeWithBrowser("the button that copies a body", () => {
  test("copies exactly the bytes that were sent, and says so next to it", async () => {
    const { page, item, call, deliveries } = await openResponse(text);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await visit(page, item);
    const { id } = present((await deliveries())[0]);
    const { request } = await call(`GET deliveries/${id}/attempts/1`);
    for (const [name, expected] of [
      ["Copy the body of the response", text],
      ["Copy the body of the request", request.body.text],
    ] as const) {
      await copyOf(page, name).click();
      await page.locator(".copied", { hasText: "Copied." }).waitFor();
      expect(await page.locator(".copied").count()).toBe(1);
      expect(await clipboard(page)).toBe(expected);
    }
    await page.locator("#mail-of-delivery > summary").click();
    expect(await page.locator(".copied").count()).toBe(0);
    await copyOf(page, "Copy the text of the email").click();
    await page.locator(".copied", { hasText: "Copied." }).waitFor();
    expect(await clipboard(page)).toBe(text);
    const attributes = await page.evaluate(() =>
      [...document.querySelectorAll("*")].flatMap((one) =>
        [...one.attributes]
          .map(({ value }) => value)
          .filter((value) => /[\p{Cc}\p{Cf}]/u.test(value)),
      ),
    );
    expect(attributes).toEqual([]);
  });

  test("copies all of a body of which the page shows a part, and what is kept of a longer one", async () => {
    const sizes = [20_000, 80_000];
    const opened = await openResponse("");
    const { page, sandbox, item } = opened;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    for (const [index, size] of sizes.entries()) {
      sandbox.deliverTo(() => new Response("x".repeat(size), { status: 500 }));
      await sandbox.clock.advanceToNext();
      await visit(page, `${item}&attempt=${index + 2}`);
      await copyOf(page, "Copy the body of the response").click();
      const [copied, kept] = [await page.locator(".copied").innerText(), await clipboard(page)];
      if (size === 20_000) expect([copied, kept.length]).toEqual(["Copied.", size]);
      else expect([copied, kept.length]).toEqual(["Copied only the stored part.", 65_536]);
    }
  });

  test.each([
    {
      what: "the browser refuses",
      fail: (page: Page) =>
        page.evaluate(() => {
          navigator.clipboard.writeText = () =>
            Promise.reject(new DOMException("Write permission denied.", "NotAllowedError"));
        }),
      says: "Copying failed. Write permission denied.",
    },
    {
      what: "the item is gone",
      fail: (page: Page) =>
        page.route("**/attempts/1?full=true", (route) => route.fulfill({ status: 410 })),
      says: "Copying failed. The sandbox responded with 410.",
    },
  ])("says why it copied nothing when $what", async ({ fail, says }) => {
    const { page, item } = await openResponse(text, { allow: [/410/] });
    await visit(page, item);
    await fail(page);
    await copyOf(page, "Copy the body of the response").click();
    await expect.poll(() => page.locator("#response .copied.bad").innerText()).toBe(says);
  });

  test("is absent where scripts are off, and for bytes that are not text", async () => {
    const plain = await openResponse(text, { javaScriptEnabled: false });
    await plain.page.goto(plain.item);
    expect(await plain.page.locator("[data-copy]").count()).toBeGreaterThan(3);
    expect(await plain.page.locator("[data-copy]:visible").count()).toBe(0);
    const binary = await openResponse(new Uint8Array([0xff, 0xfe]));
    await visit(binary.page, binary.item);
    await copyOf(binary.page, "Copy the body of the request").waitFor();
    expect(await copyOf(binary.page, "Copy the body of the response").count()).toBe(0);
  });
});
