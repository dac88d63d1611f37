import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { casesOver, type Driver } from "./sqlite-drivers.js";

const bun = createRequire(import.meta.url).resolve("bun/bin/bun.exe");

test.each<Driver>([
  { driver: "@photostructure/sqlite", command: [process.execPath, "--test"] },
  { driver: "bun:sqlite", command: [bun, "test", "--timeout", "600000"] },
])("the SQLite store and inbox pass their contracts over $driver", async (driver) => {
  const { exitCode, passed, all, output } = await casesOver(driver);
  expect(passed === all ? "" : output).toBe("");
  expect([exitCode, all > 80]).toEqual([0, true]);
});
