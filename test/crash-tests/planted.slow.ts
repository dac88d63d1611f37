import { expect, test } from "vitest";
import { sized } from "@svc-webhooks/kit/sized";
import { correct, mistakes, outsideOfFormA } from "./handlers.js";
import { nameOf, reportOf } from "./in-process.js";
import { oneFault } from "./one-fault.js";

test.each(mistakes)("a handler with the mistake $name gets $finding", async (planted) => {
  const { finding, advice, faults = 1 } = planted;
  const pairs: typeof oneFault = { maxFaults: faults, faults: sized(["fail"], undefined) };
  const report = await reportOf(planted, faults > 1 ? pairs : oneFault);
  const found = report.findings.find((one) => nameOf(one) === finding);
  expect(report.findings.map(nameOf)).toContain(finding);
  expect(found?.advice).toMatch(advice ?? /./);
  expect(found?.source).toMatch(/^test\/crash-tests\//);
  expect(found?.repeat.split(" ")).toHaveLength(faults);
});

test.each(correct)("the correct handler $name gets no finding", async (planted) => {
  const report = await reportOf(planted, { maxFaults: 1 });
  expect(report.findings.map(nameOf)).toEqual([]);
});

test("a handler with state in a variable of its module is an error", async () => {
  const run = reportOf(outsideOfFormA, { maxFaults: 1 });
  await expect(run).rejects.toMatchObject({ code: "no_effect" });
});
