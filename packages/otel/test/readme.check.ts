import { readFileSync } from "node:fs";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import { describe, expect, test } from "vitest";
import { messaging, own } from "../src/signals/names.js";

const page = "packages/otel/README.md";
const text = readFileSync(new URL("../README.md", import.meta.url), "utf8");

describe("the README", () => {
  test("lists each unstable name", () => {
    const [, list = ""] = /^## Unstable names\n\n.*They are: (.*?\.) All/m.exec(text) ?? [];
    expect(codeIn(list).toSorted()).toEqual(Object.values(messaging).toSorted());
  });

  test("lists each metric", () => {
    const listed = tableOf(page, "metric").flatMap((row) => codeIn(row["metric"] ?? ""));
    const labels = new Set([
      "receiver",
      "outcome",
      "phase",
      "warning",
      "eventType",
      "source",
      "run",
      "attempt",
    ]);
    const metrics = Object.entries(own).flatMap(([key, name]) => (labels.has(key) ? [] : [name]));
    expect(listed.toSorted()).toEqual(
      [...metrics, messaging.processDuration, messaging.consumedMessages].toSorted(),
    );
  });
});
