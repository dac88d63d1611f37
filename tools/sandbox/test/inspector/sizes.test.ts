import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { receiver } from "../support.js";
import { all, attr, openPage, rawText, textOf, the } from "./support.js";

describe("the page", () => {
  test("has at most 250 kB with 100 calls that were delivered", async () => {
    const opened = await openPage();
    const { url } = await receiver();
    await opened.control("POST endpoints", { url, event_types: ["email.sent", "email.delivered"] });
    for (let n = 0; n < 100; n += 1) await opened.send({ subject: `Your receipt, number ${n}` });
    await opened.settle();
    const [newest] = (await opened.deliveries()).toReversed();
    const page = await opened.get(`/?item=${newest?.id}`);
    expect(all(page.dom, "#calls .call")).toHaveLength(100);
    expect(all(page.dom, "#calls .chip.ok")).toHaveLength(200);
    const plain = await opened.get("/");
    // Nothing is compressed on loopback.
    expect(plain.headers.get("content-encoding")).toBeNull();
    for (const { html } of [plain, page])
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(250_000);
  });

  test("shows a deeply nested response as it was sent, in few bytes", async () => {
    const opened = await openPage();
    const body = "[".repeat(8_190) + "]".repeat(8_190);
    const { url } = await receiver((response) => response.end(body));
    await opened.control("POST endpoints", { url, event_types: ["email.sent"] });
    await opened.send({ subject: "Your receipt" });
    await opened.settle();
    const [delivery] = await opened.deliveries();
    const { html, dom } = await opened.get(`/?item=${delivery?.id}`);
    expect(all(dom, "pre.body").map(rawText)).toContain(body);
    expect(textOf(dom)).toContain("This body is nested too deeply for an indented view.");
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(250_000);
  });

  test.each([
    ["script", "script", "src", 8_000],
    ["style", "link[rel=stylesheet]", "href", 6_000],
  ])("has a %s of few bytes", async (_what, selector, name, most) => {
    const { get } = await openPage();
    const { html } = await get(attr(the((await get()).dom, selector), name));
    expect(gzipSync(html, { level: 9 }).length).toBeLessThanOrEqual(most);
  });
});
