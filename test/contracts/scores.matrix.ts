import { join } from "node:path";
import { node, root } from "@svc-webhooks/kit/programs";
import { tableOf } from "@svc-webhooks/kit/tables";
import type { ConformanceResult } from "@svc-webhooks/testing/conformance";
import { expect, test } from "vitest";

const script = join(root, "test/contracts/scores/run.mjs");
const rows = tableOf("docs/receivers.md", "receiver").map((row) => ({
  name: /run\.mjs ([a-z]+)/.exec(row["command"] ?? "")?.[1] ?? "",
  must: row["must"],
  should: row["should"],
}));

const inJavaScript = ["octokit", "tern", "stripe", "standardwebhooks"];

test("docs/receivers.md has the scores of five published receivers and three tutorials", () => {
  expect(rows.map(({ name }) => name)).toEqual([
    ...inJavaScript,
    "webhook",
    "flask",
    "php",
    "sinatra",
  ]);
});

function scoreOf(results: readonly ConformanceResult[], level: ConformanceResult["level"]): string {
  const judged = results.filter((one) => one.level === level && one.status !== "not_applicable");
  return `${judged.filter(({ status }) => status === "passed").length}/${judged.length}`;
}

test.each(inJavaScript)("the documented score of %s is its score", async (name) => {
  const { stdout } = await node([script, name, "--json"], { cwd: root });
  const { results } = JSON.parse(stdout) as { readonly results: readonly ConformanceResult[] };
  const { must, should } = rows.find((row) => row.name === name) ?? {};
  expect([scoreOf(results, "must"), scoreOf(results, "should")]).toEqual([must, should]);
});
