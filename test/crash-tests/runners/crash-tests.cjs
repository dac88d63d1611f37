const timers = require("node:timers");

const silent = { info() {}, warn() {}, error() {} };

/** Runs crash tests with the packages of the runner, and returns their reports as JSON. */
exports.run = async function run({ createReceiver, crashReport, fixture, migrate, postgresStore }) {
  const withMemory = (handle) => ({
    events: [fixture("email.delivered")],
    maxFaults: 1,
    receiver: ({ secret, clock, store }) =>
      createReceiver({
        name: "runners",
        secret,
        clock,
        store,
        logger: silent,
        on: { "*": handle },
      }),
  });
  const withPool = (handle) => ({
    events: [fixture("email.delivered")],
    maxFaults: 1,
    async prepare({ pool }) {
      await migrate(pool);
      await pool.query("create table orders (key text not null, at timestamptz default now())");
    },
    receiver({ secret, clock, pool }) {
      const store = postgresStore(pool);
      const on = { "*": handle(pool, store) };
      return createReceiver({ name: "runners", secret, clock, store, logger: silent, on });
    },
  });
  const insert = "insert into orders (key) values ($1)";
  const reports = {
    charge: await crashReport(
      withMemory(async () => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        const key = `${crypto.randomUUID()} ${Math.random()} ${Date.now()} ${new Date().toISOString()}`;
        await charge(key);
      }),
    ),
    key: await crashReport(withMemory((_event, { idempotencyKey }) => charge(idempotencyKey))),
    insert: await crashReport(
      withPool(
        (pool) =>
          (_event, { idempotencyKey }) =>
            pool.query(insert, [idempotencyKey]),
      ),
    ),
    transaction: await crashReport(
      withPool(
        (_pool, store) => (_event, context) =>
          store.transaction(context, (tx) => tx.query(insert, [context.idempotencyKey])),
      ),
    ),
  };
  return JSON.stringify(reports, undefined, 2);
};

async function charge(key) {
  const headers = { "Idempotency-Key": key };
  const { ok } = await fetch("http://api.example.com/charge", { method: "POST", headers });
  if (!ok) throw new Error("The charge failed.");
}

/** Runs crash tests of handlers with errors that nothing catches, and returns the messages of their errors. */
exports.runErrors = async function runErrors({ createReceiver, crashTest, fixture }) {
  const handles = [
    () => void Promise.reject(new Error("of a promise")),
    () => void setTimeout(() => fail("of a timer"), 5),
    () => void timers.setTimeout(() => fail("of node:timers"), 5),
    () => process.nextTick(() => fail("of a tick")),
    () => queueMicrotask(() => fail("of a microtask")),
  ];
  const messages = [];
  for (const handle of handles) {
    const receiver = ({ secret, clock, store }) =>
      createReceiver({
        name: "runners",
        secret,
        clock,
        store,
        logger: silent,
        on: {
          "*": (event) => new Promise((resolve) => void setTimeout(resolve, 50, handle(event))),
        },
      });
    const error = await crashTest({ events: [fixture("email.sent")], receiver }).catch(
      (one) => one,
    );
    messages.push(`${error.code}: ${error.message}`);
  }
  return JSON.stringify(messages, undefined, 2);
};

function fail(message) {
  throw new Error(message);
}
