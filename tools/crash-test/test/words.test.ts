import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "rolldown/utils";
import { expect, test } from "vitest";
import { pageOf, type ReportPage } from "../src/index.js";
import { textOf } from "../src/report/text.js";
import { withFindings, withoutFinding } from "./pages.js";

/** Words that claim more than a bounded search can show. */
const claims = /\b(?:un)?(?:safe|proved|proven|verified)\b/i;

const source = fileURLToPath(new URL("../src", import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts"),
);

/** Returns the texts in a module: its string literals, and the parts of its templates. */
function textsIn(file: string): readonly string[] {
  const texts: string[] = [];
  const { program } = parseSync(file, readFileSync(join(source, file), "utf8"));
  new Visitor({
    Literal: ({ value }) => {
      if (typeof value === "string") texts.push(value);
    },
    TemplateElement: ({ value }) => texts.push(value.cooked ?? value.raw),
  }).visit(program);
  return texts;
}

test("no text of the sources claims what a search cannot show", () => {
  const texts = files.flatMap((file) => textsIn(file).map((text) => `${file}: ${text}`));
  expect(texts.length).toBeGreaterThan(200);
  expect(texts.some((text) => text.includes("Pass `context.idempotencyKey`"))).toBe(true);
  expect(texts.filter((text) => claims.test(text))).toEqual([]);
});

const pages: readonly (readonly [string, ReportPage])[] = [
  ["with findings", withFindings],
  ["without a finding", withoutFinding],
];

test.each(pages)("neither does a report %s, as text and as a page", (_name, page) => {
  const text = textOf(page.report, 3);
  expect(text).toContain("crash test of email.delivered");
  expect(text).not.toMatch(claims);
  expect(pageOf(page)).not.toMatch(claims);
});
