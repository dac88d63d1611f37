import { readFileSync } from "node:fs";
import type { DeliveryReport } from "@svc-webhooks/core";
import { conditionOf, fires, increaseRules } from "@svc-webhooks/kit/alert-rules";
import { describe, expect, test } from "vitest";
import { telemetry } from "../src/index.js";
import { scraped } from "./support.js";

const text = readFileSync(new URL("../dashboards/alerts.yaml", import.meta.url), "utf8");
const rules = increaseRules(text);
const cases = rules.flatMap((rule) =>
  conditionOf(rule).values.map((code) => [rule.alert, code, rule] as const),
);

const report = (code: string, phase: string) =>
  ({
    receiver: "mail",
    phase,
    code,
    status: 503,
    totalMs: 1,
    warnings: [],
  }) as unknown as DeliveryReport;

/** One scrape a minute: one before the reports, and those of the two hours after them. */
async function scrapesAround(reports: readonly DeliveryReport[]): Promise<readonly string[]> {
  const { meter, scrape } = scraped();
  const { observe } = telemetry({ name: "mail", meter });
  const before = await scrape();
  for (const one of reports) observe(one);
  return [before, ...Array<string>(120).fill(await scrape())];
}

describe("an alert rule of outcomes", () => {
  test.each(cases)("%s fires for a single event that ends as %s", async (_alert, code, rule) => {
    expect(fires(rule, code, await scrapesAround([]))).toBe(false);
    expect(fires(rule, code, await scrapesAround([report("processed", "answered")]))).toBe(false);
    for (const phase of ["answered", "settled"])
      expect(fires(rule, code, await scrapesAround([report(code, phase)]))).toBe(true);
  });
});
