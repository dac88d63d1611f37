const { writeFileSync } = require("node:fs");
const { createReceiver } = require("@svc-webhooks/core");
const { migrate, postgresStore } = require("@svc-webhooks/postgres");
const { fixture } = require("@svc-webhooks/testing");
const { crashReport, crashTest } = require("@svc-webhooks/testing/crash-test");
const { run, runErrors } = require("./crash-tests.cjs");

const { RESULTS = "." } = process.env;
const packages = { createReceiver, crashReport, crashTest, fixture, migrate, postgresStore };

/** Milliseconds. */
const limit = 300_000;

test(
  "crash tests of what is planted",
  async () => {
    const reports = await run(packages);
    writeFileSync(`${RESULTS}/reports.json`, reports);
    expect(reports).not.toBe("");
  },
  limit,
);

test(
  "crash tests of errors that nothing catches",
  async () => {
    const errors = await runErrors(packages);
    writeFileSync(`${RESULTS}/errors.json`, errors);
    expect(errors).not.toBe("");
  },
  limit,
);
