import { expect, test } from "vitest";
import { table, tableInParts } from "../src/lib/terminal/table.js";
import type { Line } from "../src/paint.js";

const names = ["event_id", "type", "status", "created_at"];
const rows = [["evt_0123456789", "email.delivered", "succeeded", "10:00:00.000"]];

const textOf = (line: Line) =>
  [line]
    .flat()
    .map((part) => (typeof part === "string" ? part : part.text))
    .join("")
    .trimEnd();

const printed = (columns?: number) =>
  table(names, rows, columns === undefined ? {} : { columns }).map(textOf);

test("without a terminal, and on a wide one, a table has all columns", () => {
  const all = [
    "event_id        type             status     created_at",
    "evt_0123456789  email.delivered  succeeded  10:00:00.000",
  ];
  expect(printed()).toEqual(all);
  expect(printed(0)).toEqual(all);
  expect(printed(56)).toEqual(all);
});

test("on a narrow terminal, columns are left out from the last one on, and one may be cut", () => {
  expect(printed(55)[1]).toBe("evt_0123456789  email.delivered  succeeded");
  expect(printed(30)[1]).toBe("evt_0123456789  email.deliver…");
  expect(printed(20)[1]).toBe("evt_0123456789");
  expect(printed(5)[1]).toBe("evt_0123456789");
});

test("on a narrow terminal, the most important columns stay, in their places", () => {
  const first = ["event_id", "status", "missing"];
  expect(table(names, rows, { columns: 30 }, { first }).map(textOf)).toEqual([
    "event_id        status",
    "evt_0123456789  succeeded",
  ]);
});

test("the parts of a table have one line of names, and widths that never shrink", () => {
  const linesOf = tableInParts(["id", "type"], {});
  expect(linesOf([["1234", "a"]]).map(textOf)).toEqual(["id    type", "1234  a"]);
  expect(linesOf([["5", "b"]]).map(textOf)).toEqual(["5     b"]);
});
