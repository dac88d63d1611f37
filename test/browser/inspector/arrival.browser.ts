import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import { listen } from "@svc-webhooks/kit/servers";
import { describe, expect, test } from "vitest";
import { lineOf, linesOf, open, openInspector } from "./support.js";

const refusal = JSON.stringify({ error: { code: "signature_mismatch" } });

interface Failure {
  readonly what: string;
  readonly listener?: Parameters<typeof listen>[0];
  readonly chip: string;
  readonly row: string;
  readonly words: string;
  /** Shown instead of `words` if the receiver has responded. */
  readonly assumption?: string;
}

const failures: readonly Failure[] = [
  {
    what: "nothing is listening",
    chip: "refused",
    row: "connection refused",
    words: "Connection refused. Nothing is listening on port 1",
  },
  {
    what: "the receiver responds with 500",
    listener: (_request, response) => response.writeHead(500).end("down"),
    chip: "500",
    row: "500",
    words: "HTTP 500",
  },
  {
    what: "the receiver never responds",
    listener: () => {},
    chip: "timed out",
    row: "timed out",
    words: "Timed out. The receiver did not respond within 0.2 s (A-10).",
    assumption: "A-10",
  },
  {
    what: "the receiver closes the connection",
    listener: ({ socket }) => socket.resetAndDestroy(),
    chip: "reset",
    row: "reset",
    words: "Reset. The connection was closed before a response arrived.",
  },
  {
    what: "the receiver redirects",
    listener: (_request, response) => response.writeHead(302, { location: "/elsewhere" }).end(),
    chip: "302",
    row: "302",
    words: "Redirects are not followed (A-10).",
    assumption: "A-10",
  },
];

describeWithBrowser("the timeline", () => {
  describe.each(["light", "dark"] as const)("in a %s scheme", (colorScheme) => {
    test("shows a call, its email and its deliveries in one block, as they happen", async () => {
      const { url, register, send } = await open({
        clock: "real",
        // A second attempt would change what is counted.
        assumptions: { "A-09": "none" },
      });
      const port = await listen((_request, response) => response.writeHead(401).end(refusal));
      await register(`http://localhost:${port}/webhooks`);
      const page = await openInspector({ url }, "/", { colorScheme });
      const loadedAt = performance.now();
      await page.reload();
      const loadMs = performance.now() - loadedAt;
      const took: number[] = [];
      for (let n = 1; n <= 5; n += 1) {
        const subject = `Receipt ${n}`;
        await send({ subject });
        const startedAt = performance.now();
        const block = page.locator("#calls > li", { hasText: subject });
        await block.locator(".tree > li:nth-child(3) .chip.bad").waitFor();
        await block.locator(".tree > li:nth-child(2) .chip.bad").waitFor();
        took.push(performance.now() - startedAt);
      }
      // A page that polled would take seconds, even if it loads in a tenth of one. A busy machine slows both.
      expect(Math.min(...took)).toBeLessThan(10 * loadMs);
      expect(await page.locator("#calls > li").count()).toBe(5);
      const block = page.locator("#calls > li").first();
      expect(await lineOf(block.locator(".call"))).toMatch(/^POST \/v1\/emails 202 /);
      const [email = "", ...events] = await linesOf(block.locator(".tree > li"));
      expect(email).toBe("Receipt 5 to grace@example.test, accepted › sent › delivered");
      expect(events[0]).toMatch(/^email\.sent to localhost:\d+\/webhooks .*1 failed: 401/);
      expect(events[1]).toMatch(/^email\.delivered to localhost:\d+\/webhooks .*1 failed: 401/);
      expect(events).toHaveLength(2);
      await block.locator(".chip.bad").first().click();
      await page.locator("#attempts").waitFor();
      expect(await lineOf(page.locator("#attempts .ans").first())).toBe("401 signature_mismatch");
      expect(await lineOf(page.locator("#signature"))).toContain(
        "A receiver that refuses a correctly signed request",
      );
    });
  });

  test.each(failures)("has its own words when $what", async ({ listener, ...expected }) => {
    const isSilent = expected.chip === "timed out";
    const options = { "A-10": isSilent ? "timeout:200ms" : "2xx", "A-09": "none" };
    const { url, register, send } = await open({ clock: "real", assumptions: options });
    const port = listener ? await listen(listener) : 1;
    await register(`http://localhost:${port}/webhooks`, ["email.sent"]);
    const page = await openInspector({ url });
    await send();
    const chip = page.locator("#calls > li:first-child .chip.bad");
    await chip.waitFor();
    expect(await lineOf(chip)).toBe(`1 failed: ${expected.chip}`);
    await chip.click();
    await page.locator("#response").waitFor();
    expect(await lineOf(page.locator("#attempts .ans"))).toBe(expected.row);
    expect(await lineOf(page.locator("#response"))).toContain(expected.words);
    if (expected.assumption) {
      await page.locator(`#response .verdict a, #response > .sub a`).first().click();
      expect(await page.locator(`#${expected.assumption}`).isVisible()).toBe(true);
    }
  });
});
