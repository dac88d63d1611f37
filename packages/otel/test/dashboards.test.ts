import { readFileSync } from "node:fs";
import { tableOf } from "@svc-webhooks/kit/tables";
import { fakeClock } from "@svc-webhooks/testing";
import { memoryInbox } from "@svc-webhooks/testing/inbox";
import { describe, expect, test } from "vitest";
import { scraped, sdk, subject } from "./support.js";

const read = (name: string) =>
  readFileSync(new URL(`../dashboards/${name}`, import.meta.url), "utf8");

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: unknown }[] };
}

const { panels, templating } = JSON.parse(read("svc-webhooks.json")) as Dashboard;
const alerts = Array.from(
  read("alerts.yaml").matchAll(/^ +expr: (.+)$/gm),
  ([, expr = ""]) => expr,
);
const [variable = ""] = templating.list.flatMap(({ query }) =>
  typeof query === "string" ? [] : [(query as { readonly query: string }).query],
);
const expressions = [
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...alerts,
  variable,
];

/** Returns the labels of each exported metric by its name. */
async function labelsOfMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { meter, scrape } = scraped();
  const clock = fakeClock();
  const inbox = memoryInbox({ clock, partitionBy: () => "key", afterDead: "hold" });
  const { receive, receiver } = subject(
    {
      "email.sent": () => {},
      "email.failed": () => {
        throw new Error("no");
      },
      "*": inbox(() => {}),
    },
    { ...sdk().options, meter, inbox },
    clock,
  );
  await receive("email.sent", { "idempotency-key": "other" });
  await receive("email.failed");
  await receive("email.delivered");
  await inbox.run(receiver);

  const text = await scrape();
  const found = new Map<string, Set<string>>();
  for (const [, name = "", labels = ""] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+/gm)) {
    const known = found.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
    found.set(name, known);
  }
  return found;
}

const exported = await labelsOfMetrics();
const ours = [...exported.keys()].filter((name) => /^(?:svc_webhooks|messaging)_/.test(name));

/** The names of the metrics in an expression: written out, or as a pattern of `__name__`. */
function metricsIn(expr: string) {
  const patterns = Array.from(expr.matchAll(/__name__=~"([^"]+)"/g), ([, pattern = ""]) => pattern);
  const names = expr.replaceAll(/\{[^}]*\}/g, "").replaceAll(/by \([^)]*\)|label_values\(.*/g, "");
  const plain = Array.from(names.matchAll(/\b(?:svc_webhooks|messaging)_\w+/g), ([name]) => name);
  return [...patterns, ...plain].map((pattern) => new RegExp(`^(?:${pattern})$`));
}

/** The labels in an expression. */
const labelsIn = (expr: string): readonly string[] => [
  ...Array.from(expr.matchAll(/(\w+)(?:=~|!=|=)"/g), ([, label = ""]) => label),
  ...Array.from(expr.matchAll(/by \(([^)]*)\)/g), ([, list = ""]) => list.split(", ")).flat(),
  ...Array.from(expr.matchAll(/, (\w+)\)$/g), ([, label = ""]) => label),
];

describe("the dashboard and the alert rules", () => {
  test("have expressions", () => {
    expect(panels.length).toBeGreaterThanOrEqual(10);
    expect(alerts).toHaveLength(8);
    expect(variable).toContain("label_values");
    expect(ours.length).toBeGreaterThan(10);
  });

  test.each(expressions)("name only metrics and labels that exist: %s", (expr) => {
    const metrics = metricsIn(expr);
    expect(metrics).toHaveLength(1);
    const [metric] = metrics;
    const matching = ours.filter((name) => metric?.test(name));
    expect(matching).toHaveLength(1);
    const known = exported.get(matching[0] ?? "") ?? new Set();
    const unknown = labelsIn(expr).filter((label) => label !== "__name__" && !known.has(label));
    expect(unknown).toEqual([]);
  });

  test("also match the names of the Collector, which appends the unit", () => {
    const inSeconds = expressions.filter((expr) => /_(?:duration|oldest_age)/.test(expr));
    expect(inSeconds.length).toBeGreaterThan(5);
    for (const expr of inSeconds) {
      const [metric] = metricsIn(expr);
      const name = ours.find((one) => metric?.test(one)) ?? "";
      const inCollector = name.replace(/_(duration|oldest_age)/, "_$1_seconds");
      expect(inCollector).not.toBe(name);
      expect(inCollector).toMatch(metric ?? /$^/);
    }
  });

  test("name outcomes that exist", () => {
    const codes = new Set(tableOf("docs/outcomes.md", "outcome").map((row) => row["outcome"]));
    const named = expressions.flatMap((expr) =>
      Array.from(expr.matchAll(/svc_webhooks_outcome=~?"([^"]+)"/g), ([, list = ""]) =>
        list.split("|").map((code) => `\`${code}\``),
      ).flat(),
    );
    expect(named.length).toBe(11);
    expect(named.filter((code) => !codes.has(code))).toEqual([]);
  });

  test("begin with the conditions of an inbox, most urgent first", () => {
    const order = [
      "svc_webhooks_inbox_oldest_age",
      "svc_webhooks_inbox_dead",
      "svc_webhooks_inbox_held_keys",
      "queue_unavailable",
      "overloaded",
    ];
    const first = panels.slice(0, 5).map(({ targets }) => targets[0]?.expr);
    for (const list of [first, alerts.slice(0, 5)]) {
      expect(list).toEqual(order.map((part) => expect.stringContaining(part)));
    }
  });
});
