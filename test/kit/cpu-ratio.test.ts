import { expect, test } from "vitest";
import { cpuRatio, fourfoldRatio, linearForFourfold, linearForTenfold } from "./cpu-ratio.js";

const text = (size: number) => "x".repeat(size);
/** Takes quadratic time: each start is tried to the end of the text. */
const quadratic = (size: number) => () => /x+y/.test(text(size));
const linear = (size: number) => () => {
  let sum = 0;
  for (const character of text(size)) sum += character.charCodeAt(0);
  return sum;
};

test("linear work is below the limit, and quadratic work above it", async () => {
  expect(await cpuRatio(linear(1_000_000), linear(100_000))).toBeLessThan(linearForTenfold);
  expect(await cpuRatio(quadratic(10_000), quadratic(1_000))).toBeGreaterThan(linearForTenfold);
});

test("the ratio for four times the size is below its limit for linear work, and above it for quadratic work", async () => {
  expect(await fourfoldRatio(linear)).toBeLessThan(linearForFourfold);
  expect(await fourfoldRatio(quadratic)).toBeGreaterThan(linearForFourfold);
});
