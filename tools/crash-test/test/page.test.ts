import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { pageOf, type ReportPage } from "../src/index.js";
import { style, styleHash } from "../src/report/page/style.js";
import { withFindings, withHostileTexts, withoutFinding } from "./pages.js";

const pages: readonly (readonly [string, ReportPage])[] = [
  ["with findings", withFindings],
  ["without a finding", withoutFinding],
  ["with hostile texts", withHostileTexts],
];

/** Returns the text of a page as a person reads it, in one line. */
const textIn = (html: string): string =>
  html
    .replace(/<head>[\s\S]*<\/head>/, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll(/\s+/g, " ");

const attributes = (html: string, name: string): readonly string[] =>
  Array.from(html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g")), ([, value = ""]) => value);

describe.each(pages)("the page %s", (_name, page) => {
  const html = pageOf(page);

  test("is one document in UTF-8 with a language, a title, and one main heading", () => {
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">/);
    expect(html).toMatch(/<title>Crash test of [^<]+<\/title>/);
    expect(html.match(/<h1>/g)).toHaveLength(1);
    expect(html.endsWith("</html>\n")).toBe(true);
  });

  test("has only elements and attributes of its own", () => {
    const elements = new Set(Array.from(html.matchAll(/<([a-z]\w*)/g), ([, name]) => name));
    expect(elements).not.toContain("script");
    expect(elements).not.toContain("img");
    expect(html).not.toMatch(/<[^>]*\s(?:on\w+|style)=/);
  });

  test("requests nothing", () => {
    expect(html).not.toMatch(/https?:|url\(|@import|<[^>]*\ssrc=/);
    const targets = attributes(html, "href").filter((target) => !target.startsWith("#"));
    expect(targets).toEqual(["data:,"]);
  });

  test("allows its own style, by its hash, and nothing else", () => {
    const hash = createHash("sha256").update(style).digest("base64");
    expect(styleHash).toBe(`sha256-${hash}`);
    expect(html).toContain(`<style>${style}</style>`);
    expect(html).toContain(`content="default-src 'none'; style-src '${styleHash}';`);
  });

  test("has a target for each link, and no id twice", () => {
    const ids = attributes(html, "id");
    expect(new Set(ids).size).toBe(ids.length);
    const links = attributes(html, "href").filter((target) => target.startsWith("#"));
    expect(links.length).toBeGreaterThanOrEqual(page.cells.length);
    expect(links.filter((target) => !ids.includes(target.slice(1)))).toEqual([]);
  });

  test("contains no character that is hidden or that turns text", () => {
    expect(html).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  });

  test("is the same, byte for byte, each time", () => {
    expect(pageOf(structuredClone(page))).toBe(html);
  });
});

describe("a page with findings", () => {
  const html = pageOf(withFindings);
  const text = textIn(html);

  test("states events, findings, what was tried, and its limits first", () => {
    const start = text.slice(0, text.indexOf("Fix"));
    expect(start).toContain("Crash test of email.delivered: 2 findings");
    expect(start).toContain("43 of 43 histories with one fault, at 10 points. Seed 1.");
    expect(start).toContain("Accepted findings duplicate slack");
    expect(start).toContain("where no fault was tried a socket to 127.0.0.1:5432");
    expect(start).toContain("Not seen by this test Files, workers, native modules");
    expect(start).toContain("Assumed to honor their idempotency keys mail");
  });

  test("gives the fix before the history, and the text that repeats it after", () => {
    const order = [
      "duplicate charge src/orders.ts:23",
      "Fix Pass context.idempotencyKey to charge .",
      "With the fault",
      "crash: charge executed, reply not read",
      "effect 2: duplicate",
      "charge took place more often than in the undisturbed run.",
      "Undisturbed",
      'Repeat it: only: "crash@4"',
    ];
    const section = text.slice(text.indexOf("Fix") - 40);
    const places = order.map((part) => section.indexOf(part));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
  });

  test("has a lane for the sender, each process, the store, the database and each service", () => {
    const lanes = Array.from(
      html.matchAll(/<div class="lane-names"[^>]*>(.*?)<\/div>/g),
      ([, head]) => textIn(head ?? "").trim(),
    );
    expect(lanes).toEqual([
      "sender A B store database charge mail",
      "sender A store database charge mail",
      "sender A B store database charge mail",
      "sender A store database charge mail",
    ]);
  });

  test("marks the fault and the second effect by shape, word and color", () => {
    const fault = /<li class="is-fault">.*?<\/li>/.exec(html)?.[0];
    expect(fault).toMatch(
      /<svg class="fault" .*<b class="fault"><svg class="icon fault".*crash: charge/,
    );
    const second = /<li class="is-bad">.*?<\/li>/.exec(html)?.[0];
    expect(second).toMatch(
      /<svg class="bad" .*<b class="bad"><svg class="icon bad".*effect 2: dup/,
    );
  });

  test("describes each arrow to those who do not see it", () => {
    expect(text).toContain("A to charge: charge, key none");
    expect(text).toContain("B to sender: attempt 4: 200 processed");
  });

  test("has a word in each cell of the grid, and headers for rows and columns", () => {
    const table = /<table>[\s\S]*<\/table>/.exec(html)?.[0] ?? "";
    const words = Array.from(table.matchAll(/<td.*?<\/td>/g), ([cell]) => textIn(cell).trim());
    expect(words).toHaveLength(10 * 8);
    expect(words).not.toContain("");
    expect(new Set(words)).toEqual(
      new Set([
        "no finding",
        "not applicable",
        "not reached",
        "duplicate charge",
        "partial mail",
        "accepted: duplicate slack",
        "duplicate charge, duplicate slack",
      ]),
    );
    expect(table.match(/<th scope="col">/g)).toHaveLength(10);
    expect(table.match(/<th scope="rowgroup" rowspan="2">/g)).toHaveLength(5);
    expect(table.match(/<th scope="row">/g)).toHaveLength(10);
  });

  test("has the history of each cell, collapsed", () => {
    expect(html.match(/<details><summary>/g)).toHaveLength(withFindings.cells.length);
    expect(html).not.toContain("<details open");
    const [history] = /<details><summary><code>status@3<[^]*?<\/details>/.exec(html) ?? [];
    expect(history).toMatch(/charge, before it is sent: .*no finding/);
    expect(history).toMatch(
      /<b class="fault"><svg class="icon fault".*status: charge responds 503, not executed/,
    );
  });
});

test("a page without a finding has the grid and its histories too", () => {
  const text = textIn(pageOf(withoutFinding));
  expect(text).toContain("Crash test of email.delivered: no finding");
  expect(text).toContain("No finding in 546 histories: 46 of 46 with one fault, at 10 points, 500");
  expect(text).toContain("with two faults (seed 1). Not tried: three faults");
  expect(text).toContain("One fault at each point");
  expect(text).not.toContain("Undisturbed");
});

test("a page without a finding, but with access that was not seen, is not green", () => {
  const { report } = withoutFinding;
  const html = pageOf({ ...withoutFinding, report: { ...report, unseen: ["a file"] } });
  expect(html).toContain('<h1><svg class="icon fault"');
  expect(pageOf(withoutFinding)).toContain('<h1><svg class="icon ok"');
});

test("a page of a finding without a fault has no grid", () => {
  const page = { ...withFindings, cells: [] };
  expect(textIn(pageOf(page))).toContain("No history with one fault was run.");
});

test("a finding that occurs without a fault has one history", () => {
  const { report } = withFindings;
  const findings = report.findings.slice(0, 1).map((one) => ({ ...one, repeat: "", cells: [] }));
  const text = textIn(pageOf({ ...withFindings, report: { ...report, findings } }));
  expect(text).toContain("Without a fault");
  expect(text).toContain("charge took place more than once for one event.");
  expect(text).not.toContain("Undisturbed");
});

test("hidden characters are shown as marks", () => {
  const html = pageOf(withHostileTexts);
  expect(html).toContain('<span class="mark">RLO</span><span class="mark">NUL</span>');
  expect(html).toContain(
    '<span class="mark">ESC</span>[31m&amp;lt;<span class="mark">U+D800</span>',
  );
  expect(html).toMatch(/<title>.*‹RLO›‹NUL›‹ESC›.*<\/title>/);
});
