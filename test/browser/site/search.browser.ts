import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { serveSite } from "./site.js";

/** Returns the addresses that a search lists, best first. */
async function found(page: Page, query: string): Promise<readonly string[]> {
  const input = page.locator("#localsearch-input");
  const list = page.locator("#localsearch-list");
  if (!(await input.isVisible()))
    await page.getByRole("button", { name: "Search" }).first().click();
  // There is no list before the first query.
  const shown = async () => ((await list.count()) === 0 ? "" : list.innerHTML());
  const before = await shown();
  await input.fill(query);
  await expect.poll(shown).not.toBe(before);
  // The list is filled after a pause in the typing, and once more when its details are known.
  await list.locator(".result").first().waitFor();
  const links = await list.locator("a.result").all();
  return Promise.all(links.map(async (link) => (await link.getAttribute("href")) ?? ""));
}

const pageOf = (address: string | undefined) => address?.split("#")[0];

describeWithBrowser("the search", () => {
  test.each([
    ["takeover", "/docs/why"],
    ["raw body", "/docs/raw-body"],
    ["mount in Fastify", "/docs/frameworks/fastify"],
    ["test handler", "/docs/test-your-handler"],
    ["how do I mount a receiver in Fastify", "/docs/frameworks/fastify"],
    ["how do I test a handler", "/docs/test-your-handler"],
    ["what does an AWS Lambda function need", "/docs/frameworks/lambda"],
    ["other_delivery_id", "/docs/troubleshooting"],
    ["stripe webhook nestjs", "/senders/stripe/nest"],
    ["github webhooks express", "/senders/github/express"],
    ["stripe", "/docs/senders/stripe"],
    ["stripe webhook", "/docs/senders/stripe"],
    ["nestjs", "/docs/frameworks/nest"],
    ["express", "/docs/frameworks/express"],
  ])('lists for "%s" %s first', async (query, address) => {
    const { origin } = await serveSite();
    const page = await openPage(origin);
    await page.goto("/docs/outcomes");
    const [first] = await found(page, query);
    expect(pageOf(first)).toBe(address);
  });

  test.each([
    ["rotate secret", "/docs/production"],
    ["how do I rotate a secret", "/docs/production"],
    ["why does a copy of a delivery get 503", "/docs/outcomes"],
  ])('lists for "%s" %s among the first three', async (query, address) => {
    const { origin } = await serveSite();
    const page = await openPage(origin);
    await page.goto("/docs/outcomes");
    expect((await found(page, query)).slice(0, 3).map(pageOf)).toContain(address);
  });

  test("lists for each code a page that explains it among the first three", async () => {
    const { origin } = await serveSite();
    const page = await openPage(origin);
    await page.goto("/docs/stores");
    const codes = Object.keys(outcomeTexts);
    const lost: string[] = [];
    for (const code of codes) {
      const first = (await found(page, code)).slice(0, 3).map(pageOf);
      if (!first.some((one) => one === "/docs/troubleshooting" || one === "/docs/outcomes")) {
        lost.push(`${code}: ${first.join(", ")}`);
      }
    }
    expect(codes.length).toBeGreaterThan(20);
    expect(lost).toEqual([]);
  });
});
