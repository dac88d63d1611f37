import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const files = ["redis", "bullmq"].flatMap((name) => {
  const folder = fileURLToPath(new URL(`../../${name}/src`, import.meta.url));
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(folder, file));
});
const calls = files.flatMap((file) =>
  Array.from(
    readFileSync(file, "utf8").matchAll(/redis\.p?call\(([^)]*)/g),
    ([call, given = ""]) => ({ call, given: given.split(/,\s*/) }),
  ),
);

// Alibaba Cloud's cluster refuses scripts whose keys are variables or expressions.
test("every command of a script names its keys as KEYS[…]", () => {
  expect(calls.length).toBeGreaterThan(0);
  const refused = calls.filter(({ given: [command = "", key = "", ...others] }) => {
    const keys = /DEL/.test(command) ? [key, ...others] : [key];
    return !/TIME/.test(command) && !keys.every((one) => /^KEYS\[\w+\]$/.test(one));
  });
  expect(refused.map(({ call }) => call)).toEqual([]);
});
