import type { ConformanceResult } from "@svc-webhooks/testing/conformance";
import { paint, type Line } from "../paint.js";

const marks = {
  passed: paint("green", "pass"),
  failed: paint("red", "FAIL"),
  not_applicable: paint("dim", "  — "),
} as const;

const numbers = new Intl.ListFormat("en", { type: "conjunction" });

/** Returns a text with the number of cases of each status and, of the failed cases, the number of each level. */
export function summaryOf(results: readonly ConformanceResult[]): string {
  const count = (status: ConformanceResult["status"], level?: ConformanceResult["level"]) =>
    results.filter((result) => result.status === status && (!level || result.level === level))
      .length;
  const failed = count("failed");
  return numbers.format([
    `${count("passed")} passed`,
    `${failed} failed${failed > 0 ? ` (${count("failed", "must")} must, ${count("failed", "should")} should)` : ""}`,
    `${count("not_applicable")} not judged`,
  ]);
}

function linesOf({ title, level, source, status, reason }: ConformanceResult): readonly Line[] {
  const head: Line = [marks[status], `  ${level.padEnd(6)}  ${title}`];
  if (status !== "failed") return [head];
  return [
    head,
    `        Reason: ${reason ?? ""}`,
    `        Source: ${source.document}, ${source.section}: ${source.quote}`,
  ];
}

/** Returns the report: each case, the reason and source of each failure, and the reasons why cases were not judged. */
export function reportOf(results: readonly ConformanceResult[]): readonly Line[] {
  const unjudged = results.filter(({ status }) => status === "not_applicable");
  const reasons = new Set(unjudged.map(({ reason = "" }) => reason));
  const why = [...reasons].map((reason): Line => {
    const { length } = unjudged.filter((result) => result.reason === reason);
    return `  - ${length} ${length === 1 ? "case" : "cases"}: ${reason}`;
  });
  return [...results.flatMap(linesOf), ...(why.length > 0 ? ["", "Not judged:", ...why] : [])];
}
