import { node, root } from "@svc-webhooks/kit/programs";
import { sized } from "@svc-webhooks/kit/sized";
import { expect, test } from "vitest";

/*
 * Each child process runs two crash tests of a correct handler and prints the size of the heap after each. A leak of
 * histories would add at least their crossings and steps: kilobytes each.
 */

const common = `
  import { createReceiver } from "@svc-webhooks/core";
  import { fixture } from "@svc-webhooks/testing";
  import { crashTest } from "@svc-webhooks/testing/crash-test";
  const silent = { info() {}, warn() {}, error() {} };
  const events = [fixture("email.delivered")];
  const name = "memory";
  const heap = async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      gc();
    }
    return process.memoryUsage().heapUsed;
  };
  const countOf = ({ tried }) => tried.reduce((sum, { run }) => sum + run, 0);
`;

const withStore = `${common}
  const run = (maxHistories) => crashTest({
    events,
    maxFaults: 3,
    maxHistories,
    receiver: ({ secret, clock, store }) => createReceiver({
      name, secret, clock, store, logger: silent,
      on: { "*": async (_event, { idempotencyKey }) => {
        const headers = { "Idempotency-Key": idempotencyKey };
        for (const path of ["charge", "mail"]) {
          const { ok } = await fetch("http://api.example.com/" + path, { method: "POST", headers });
          if (!ok) throw new Error("The API failed.");
        }
      } },
    }),
  });
`;

const withPool = `${common}
  import { migrate, postgresStore } from "@svc-webhooks/postgres";
  const run = (maxHistories) => crashTest({
    events,
    maxFaults: 3,
    maxHistories,
    async prepare({ pool }) {
      await migrate(pool);
      await pool.query("create table orders (key text)");
    },
    receiver({ secret, clock, pool }) {
      const store = postgresStore(pool);
      const on = { "*": (_event, context) => store.transaction(context, (tx) =>
        tx.query("insert into orders values ($1)", [context.idempotencyKey])) };
      return createReceiver({ name, secret, clock, store, logger: silent, on });
    },
  });
`;

const script = (setup: string, sizes: readonly number[]) => `${setup}
  const results = [];
  for (const size of ${JSON.stringify(sizes)}) {
    const count = countOf(await run(size));
    results.push({ count, heap: await heap(), rss: process.memoryUsage().rss });
  }
  console.log(JSON.stringify(results));
`;

interface Measured {
  readonly count: number;
  readonly heap: number;
  readonly rss: number;
}

async function measured(setup: string, sizes: readonly number[]): Promise<readonly Measured[]> {
  const args = ["--expose-gc", "--input-type=module", "--eval", script(setup, sizes)];
  const { exitCode, stdout, stderr } = await node(args, { cwd: root });
  expect(stderr).toBe("");
  expect(exitCode).toBe(0);
  return JSON.parse(stdout) as readonly Measured[];
}

const megabyte = 2 ** 20;

test("further histories leave nothing on the heap, with the store in memory", async () => {
  const sizes = sized([1_000, 4_000], [2_000, 10_000]) as [number, number];
  const [, few, many] = await measured(withStore, [100, ...sizes]);
  expect(few?.count).toBeGreaterThanOrEqual(sizes[0]);
  expect(many?.count).toBeGreaterThanOrEqual(sizes[1]);
  const bytes = Number(many?.heap) - Number(few?.heap);
  expect(bytes / (sizes[1] - sizes[0])).toBeLessThan(sized(1_024, 524));
});

// PGlite needs ten milliseconds for each history.
test.each(sized([], [2_000]))(
  "%i histories leave no more on the heap than 200, with PGlite",
  async (size) => {
    const [, few, many] = await measured(withPool, [50, 200, size]);
    expect(few?.count).toBeGreaterThanOrEqual(200);
    expect(many?.count).toBeGreaterThanOrEqual(size);
    expect(Number(many?.heap) - Number(few?.heap)).toBeLessThan(4 * megabyte);
    // The memory of PostgreSQL is outside of the heap.
    expect(Number(many?.rss) - Number(few?.rss)).toBeLessThan(200 * megabyte);
  },
);
