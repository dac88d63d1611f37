import { fileURLToPath } from "node:url";
import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { bundled } from "@svc-webhooks/kit/launch";
import { listen } from "@svc-webhooks/kit/servers";
import { expect, test } from "vitest";

describeWithBrowser("in Chromium", () => {
  test("the core and signed requests work as in every other runtime", async () => {
    const script = await bundled(fileURLToPath(new URL("page.ts", import.meta.url)), "browser");
    const port = await listen((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<script type="module">${script}</script>`);
    });
    const page = await openPage(`http://127.0.0.1:${port}`);
    await page.goto("/");
    const result = await page.waitForFunction(() => (globalThis as { result?: unknown }).result);
    expect(await result.jsonValue()).toEqual({ status: 200, failures: [] });
  });
});
