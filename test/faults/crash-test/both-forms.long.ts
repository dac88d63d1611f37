import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CrashTestReport } from "@svc-webhooks/testing/crash-test";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { isFull } from "@svc-webhooks/kit/sized";
import { afterAll, beforeAll, test } from "vitest";
import { correct, mistakes, outsideOfFormA, type Planted } from "../../crash-tests/handlers.js";
import { nameOf, reportOf } from "../../crash-tests/in-process.js";
import { copiesIn, resultOf } from "./crash-testing.js";
import { problemsIn, tableOf, type Findings, type Result } from "./forms-table.js";
import { startPlanted, withPlanted, type PlantedServer } from "./planted.js";

const tableFile = fileURLToPath(new URL("../../../docs/crash-test-table.md", import.meta.url));

const handlers = [...mistakes, outsideOfFormA, ...correct];

/** A mistake and a correct handler that start few processes: form B starts a hundred for some. */
const inEachRun = new Set(["insert without transaction", "transaction"]);

/** The handlers to run. */
const all = handlers.filter(({ name }) => isFull || inEachRun.has(name));

/** All handlers. Those that take the longest are the first. */
const byDuration = all.toSorted(
  (a, b) =>
    Number(b.isSlow ?? false) - Number(a.isSlow ?? false) ||
    (b.events?.length ?? 1) - (a.events?.length ?? 1),
);

const findingsOf = ({ findings }: Pick<CrashTestReport, "findings">): Findings =>
  new Map(findings.map((one) => [nameOf(one).replace("POST API_URL/", ""), one.cells]));

/** Returns the findings that depend on timing, with the cell where each was found. */
const unsteadyIn = ({ unsteady }: CrashTestReport): Findings =>
  new Map(
    unsteady.map((text) => {
      const [name = "", cell = ""] = text.replace("POST API_URL/", "").split(": ");
      return [name, [cell]];
    }),
  );

async function inFormA(planted: Planted): Promise<Findings | undefined> {
  const faults = ["crash", "fail", "response_lost", "status"] as const;
  const running = reportOf(planted, { maxFaults: 1, faults });
  if (planted !== outsideOfFormA) return findingsOf(await running);
  const error: unknown = await running.catch((cause: unknown) => cause);
  if ((Object(error) as { readonly code?: unknown }).code === "no_effect") return undefined;
  throw new Error("Form A has run the handler that it cannot run.", { cause: error });
}

describeWithPostgres("the planted handlers", () => {
  const inA = new Map<string, Findings | undefined>();
  const inB = new Map<string, Pick<Result, "b" | "isSteady">>();
  let server: PlantedServer;

  beforeAll(async () => {
    server = await withPlanted();
    for (const planted of all) inA.set(planted.name, await inFormA(planted));
  });
  afterAll(() => server.close());

  test.concurrent.for(byDuration)(
    "$name: runs in form B",
    async (planted, { expect, onTestFinished }) => {
      const run = startPlanted(server, planted, [], onTestFinished);
      const { stdout, stderr } = await run.ended;
      expect(stderr).toMatch(/^(?:API_URL was named but never used, .*\n)?$/);
      const { report } = resultOf(stdout);
      const { notReached, unsteady, unseen } = report;
      expect(unseen).toEqual([]);
      inB.set(planted.name, {
        b: new Map([...unsteadyIn(report), ...findingsOf(report)]),
        isSteady: notReached.length === 0 && unsteady.length === 0,
      });
      expect([run.processes(), run.files()]).toEqual([[], []]);
    },
  );

  test("both forms agree, except for the differences with a reason", async ({ expect }) => {
    const results = all.map((planted): Result => {
      const b = inB.get(planted.name);
      if (!b) throw new Error(`Form B has not run the handler "${planted.name}".`);
      return { planted, a: inA.get(planted.name), ...b };
    });
    expect(problemsIn(results)).toEqual([]);
    expect(await copiesIn(server)).toEqual([]);
    const steady = results.filter(({ isSteady }) => isSteady);
    const table = tableOf(steady);
    const rows = readFileSync(tableFile, "utf8").split("\n");
    if (isFull && steady.length === results.length)
      await expect(table).toMatchFileSnapshot(tableFile);
    else expect(rows).toEqual(expect.arrayContaining(table.split("\n")));
  });
});
