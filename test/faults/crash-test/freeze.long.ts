import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { eachNth } from "@svc-webhooks/kit/sized";
import { afterAll, beforeAll, test } from "vitest";
import { correct, mistakes } from "../../crash-tests/handlers.js";
import { reportOf } from "../../crash-tests/in-process.js";
import { resultOf } from "./crash-testing.js";
import { startPlanted, withPlanted, type PlantedServer } from "./planted.js";

const names = new Set(["charge, then insert", "insert without transaction", "transaction"]);

/**
 * The cell that only form B has: the claim was executed. In form A, the process notices by its clock that its lease has
 * ended, and does not start the handler. In form B, the lease is set back only in the database, so the handler starts.
 */
const early = "freeze@2";

/**
 * On a slow machine, the takeover takes longer than the usual lease, which would then have ended on the clock too, and
 * longer than the usual deadline of the claim, after which the handler does not start.
 */
const env = { LEASE_MS: "600000", CLAIM_MS: "10000" };

const planted = [...mistakes, ...correct].filter(({ name }) => names.has(name));

describeWithPostgres("a server that freezes until another one has taken over", () => {
  let server: PlantedServer;
  beforeAll(async () => {
    server = await withPlanted();
  });
  afterAll(() => server.close());

  test.concurrent.for(eachNth(planted, 3))(
    "$name: the findings of form A, also before the handler",
    async (one, { expect, onTestFinished }) => {
      const inProcess = await reportOf(one, { maxFaults: 1, faults: ["freeze"] });
      const run = startPlanted(server, one, ["--faults=freeze"], onTestFinished, env);
      const { stdout, stderr } = await run.ended;
      expect(stderr).toMatch(/^(?:API_URL was named but never used, .*\n)?$/);
      const { report } = resultOf(stdout);
      const expected = inProcess.findings.map(({ kind, cells }) => [kind, [early, ...cells]]);
      expect(report.findings.map(({ kind, cells }) => [kind, cells])).toEqual(expected);
      expect([report.notReached, report.unsteady]).toEqual([[], []]);
      expect([run.processes(), run.files()]).toEqual([[], []]);
    },
  );
});
