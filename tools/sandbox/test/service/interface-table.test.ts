import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import { createSandbox } from "@svc-webhooks/sandbox";
import { expect, test } from "vitest";

const lines = readFileSync(join(root, "docs/interface.md"), "utf8").split("\n");

/** Whether a line states a fact. Blank lines, headings without an operation and table headers do not. */
const isStatement = (line: string, index: number) => {
  if (line.startsWith("#")) return /^### (?:GET|POST|DELETE) \//.test(line);
  const isHead = lines[index + 1]?.startsWith("|-") === true;
  return line.trim() !== "" && !isHead && !line.startsWith("|-");
};

const statements = lines
  .map((line, index) => ({ line, number: index + 1, isOne: isStatement(line, index) }))
  .filter(({ isOne }) => isOne);

const rows = tableOf("docs/interface-table.md", "line").map((row) => ({
  number: Number(row["line"]),
  states: row["states"] ?? "",
  tests: codeIn(row["proof"] ?? ""),
  assumptions: (row["proof"] ?? "").replaceAll(/`[^`]*`/g, "").match(/A-\d\d/g) ?? [],
}));

const ledger = createSandbox()
  .assumptions()
  .map(({ id }) => id as string);

test("the interface document has its 98 statements", () => {
  expect(statements).toHaveLength(98);
});

test("each line of the interface document has a row, in its order, and each row a line", () => {
  const numbers = [...new Set(rows.map(({ number }) => number))];
  expect(numbers).toEqual(statements.map(({ number }) => number));
  expect(rows.map(({ number }) => number)).toEqual(
    rows.map(({ number }) => number).toSorted((a, b) => a - b),
  );
});

test("each row states something, and has a test or an assumption", () => {
  const empty = rows.filter(
    ({ states, tests, assumptions }) => states === "" || tests.length + assumptions.length === 0,
  );
  expect(empty).toEqual([]);
});

test("each line that leaves something open has an assumption, and each other line a test", () => {
  const wrong = statements.filter(({ line, number }) => {
    const own = rows.filter((row) => row.number === number);
    const isOpen = /not shown/i.test(line);
    const has = (key: "tests" | "assumptions") => own.some((row) => row[key].length > 0);
    return isOpen ? !has("assumptions") : !has("tests");
  });
  // This line is about where a client keeps its API key. It cannot be tested, because the sandbox accepts any key.
  expect(wrong.map(({ number }) => number)).toEqual([137]);
});

test("each assumption of the table is in the ledger, and each of the ledger is in the table", () => {
  const named = new Set(rows.flatMap(({ assumptions }) => assumptions));
  expect([...named].toSorted()).toEqual(ledger);
});

test.each([...new Set(rows.flatMap(({ tests }) => tests))])("%s exists", (name) => {
  const [file = "", title = ""] = name.split(" › ");
  const path = join(root, file.startsWith("test/") ? file : join("tools/sandbox/test", file));
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path, "utf8")).toMatch(
    new RegExp(String.raw`\(\s*"${title.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)}"`),
  );
});

test.each(statements.filter(({ line }) => line.startsWith("### ")))(
  "line $number, $line, is an operation of the row",
  ({ line, number }) => {
    const row = rows.find((candidate) => candidate.number === number);
    expect(row?.states).toBe(`\`${line.slice("### ".length)}\``);
  },
);
