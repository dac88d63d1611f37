import { createReceiver, type Handler } from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { crashReport, type CrashTestOptions, type World } from "@svc-webhooks/testing/crash-test";
import { fixture } from "@svc-webhooks/testing";
import type { Pool } from "pg";
import type { RunSection } from "../sections.js";

const events = [fixture("email.delivered")];
const logger = { info() {}, warn() {}, error() {} };

type Options = CrashTestOptions<Pool>;

/** A handler that makes a call with a key, with the store in memory. */
const inMemory: Options = {
  events,
  receiver({ secret, clock, store, effect }: World<Pool>) {
    const charge = effect("charge", (key: string) => key, { key: (key) => key });
    const handler: Handler = (_event, { idempotencyKey }) => charge(idempotencyKey);
    return createReceiver({ secret, clock, store, logger, on: { "*": handler } });
  },
};

/** A handler that inserts a row in the transaction that completes the delivery, with PGlite. */
const withPglite: Options = {
  events,
  async prepare({ pool }) {
    await migrate(pool);
    await pool.query("create table orders (id serial primary key, email_id text not null)");
  },
  receiver({ secret, clock, pool }) {
    const store = postgresStore(pool);
    const handler: Handler = (_event, context) =>
      store.transaction(context, (tx) => tx.query("insert into orders (email_id) values ('1')"));
    return createReceiver({ name: "bench", secret, clock, store, logger, on: { "*": handler } });
  },
};

export const run: RunSection = async (quick) => {
  const rounds = quick ? 1 : 7;
  // The first run is not measured, because it starts PGlite and loads the code.
  await cpuMs(withPglite);
  const lanes = [
    { name: "store in memory", values: await repeated(rounds, () => cpuMs(inMemory)) },
    { name: "PGlite", values: await repeated(rounds, () => cpuMs(withPglite)) },
  ];
  const bars = [
    { lane: "store in memory", atMost: 2, aim: 1 },
    { lane: "PGlite", atMost: 15, aim: 8 },
  ];
  return {
    title: "Crash test",
    races: [{ title: "crash test, CPU time of a history", unit: "ms", lanes, bars }],
  };
};

async function repeated(rounds: number, measure: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await measure());
  return values;
}

/** Resolves to the CPU time per history with one fault, in milliseconds. */
async function cpuMs(options: Options): Promise<number> {
  const before = process.cpuUsage();
  const { tried, findings } = await crashReport<Pool>({ ...options, maxFaults: 1 });
  if (findings.length > 0) {
    throw new Error("The crash test reported findings for a handler that is correct.");
  }
  const { user, system } = process.cpuUsage(before);
  // Counts only histories with a fault, although the time includes that of the undisturbed histories.
  return (user + system) / 1_000 / Number(tried[0]?.run);
}
