import { expect, test } from "vitest";
import { annotationsOf } from "../../src/report/annotations.js";

const finding = {
  kind: "order_dependent",
  effect: "a:b",
  source: "src/orders,1.ts:23",
  repeat: "crash@3",
  advice: "100 %\nPass a key.",
  history: [],
  cells: [],
} as const;

const words = {
  only: "`--at`",
  accept: "--accept",
  repeat: (faults: string) => `--at ${faults}`,
};

test("a finding is a line of GitHub Actions, with its place", () => {
  expect(annotationsOf({ findings: [finding] }, words)).toEqual([
    "::error file=src/orders%2C1.ts,line=23,title=order-dependent a%3Ab::100 %25%0APass a key. Repeat: --at crash@3",
  ]);
});

test("a finding without a place and without a fault has neither", () => {
  const { source: _source, ...others } = finding;
  expect(annotationsOf({ findings: [{ ...others, repeat: "" }] }, words)).toEqual([
    "::error title=order-dependent a%3Ab::100 %25%0APass a key.",
  ]);
});
