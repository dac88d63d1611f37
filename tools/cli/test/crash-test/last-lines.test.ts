import { expect, test } from "vitest";
import { lastOf } from "../../src/crash-test/server-processes.js";

const frames = (start: string) =>
  Array.from(
    { length: 30 },
    (_, at) => `    ${start}Module${at}.load (/app/node_modules/x.js:${at})`,
  );

test("the last lines of a server contain the message of an error, whatever its stack", () => {
  const lines = [
    "node:internal/modules/cjs/loader:1228",
    "  throw err;",
    "  ^",
    "",
    "Error: Cannot find module 'express'",
    "Require stack:",
    "- /app/server.js",
    ...frames("at "),
    "  code: 'MODULE_NOT_FOUND'",
    "}",
  ];
  const last = lastOf(lines.join("\n"));
  expect(last).toContain("Error: Cannot find module 'express'");
  expect(last).toContain("at Module0.load (/app/node_modules/x.js:0)");
  expect(last.filter((line) => line.startsWith("at "))).toHaveLength(1);
  expect(last.at(-1)).toBe("}");
});

test("each error of a chain keeps its first frame", () => {
  const java = ["Caused by: java.net.ConnectException: refused", ...frames("at "), "\t... 12 more"];
  expect(lastOf(["Exception: failed", ...frames("at "), ...java].join("\n"))).toEqual([
    "Exception: failed",
    "at Module0.load (/app/node_modules/x.js:0)",
    "Caused by: java.net.ConnectException: refused",
    "at Module0.load (/app/node_modules/x.js:0)",
  ]);
});

test("a line that only begins with `at` is kept", () => {
  expect(lastOf("at 10:00 it started\nat 10:01 it failed")).toEqual([
    "at 10:00 it started",
    "at 10:01 it failed",
  ]);
});
