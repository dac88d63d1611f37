import { writeFileSync } from "node:fs";
import { createReceiver } from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import { crashReport, crashTest } from "@svc-webhooks/testing/crash-test";
import { run, runErrors } from "./crash-tests.cjs";

const { RUNNER = "node:test", RESULTS = "." } = process.env;
const { test } = await import(RUNNER);

const packages = { createReceiver, crashReport, crashTest, fixture, migrate, postgresStore };

test("crash tests of what is planted", async () =>
  writeFileSync(`${RESULTS}/reports.json`, await run(packages)));

test("crash tests of errors that nothing catches", async () => {
  // Bun reports these errors outside of the context of their code.
  const errors = RUNNER === "bun:test" ? "[]" : await runErrors(packages);
  writeFileSync(`${RESULTS}/errors.json`, errors);
});
