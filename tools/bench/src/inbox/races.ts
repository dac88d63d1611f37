import { eventType, deliveriesOf, secret } from "../deliveries.js";
import type { Race } from "../race.js";
import { ratePerSecond, takeTurns, type Turn } from "../turns.js";
import { inFlight, type Queued } from "./queued.js";
import type { Site } from "./site.js";
import { bothCores } from "./without-branch.js";

/** Returns the options of a queue that runs the events of each of 50 keys in order. */
const inOrder = () => {
  let sent = 0;
  return { partitionBy: () => `key ${(sent += 1) % 50}` };
};

/** Opens a queue of each kind. */
async function openQueues(site: Site, name: string): Promise<Readonly<Record<string, Queued>>> {
  return {
    "pg-boss": await site.pgBoss(`${name}-any`),
    "pg-boss, in order on 50 keys": await site.pgBoss(`${name}-order`, inOrder()),
    "BullMQ on PostgreSQL": await site.bullmq(`${name}-any`, "postgres"),
    "BullMQ on Redis": await site.bullmq(`${name}-any`, "everysec"),
    "BullMQ on Redis, appendfsync always": await site.bullmq(`${name}-any`, "always"),
  };
}

const inline = "inline, in `transaction`";

/** Measures how many deliveries per second each contender accepts. No worker runs. */
export async function acceptingRace(site: Site, quick: boolean): Promise<Race> {
  const queues = await openQueues(site, "accepting");
  const turn = (work: () => Promise<void>) => () =>
    ratePerSecond(inFlight.accepting, quick ? 10 : 300, work);
  const turns = Object.entries(queues).map(([name, { accept }]) => [name, turn(accept)] as const);
  const contenders = { [inline]: turn(site.inline), ...Object.fromEntries(turns) };
  const lanes = await takeTurns(contenders, quick ? 1 : 15);
  const title = `Inbox, accepting, ${inFlight.accepting} at a time`;
  return { title, unit: "/s", reference: inline, lanes, bars: [] };
}

/**
 * Measures how many waiting jobs per second workers run, with the effect in `transaction`, while no delivery arrives.
 */
export async function runningRace(site: Site, quick: boolean): Promise<Race> {
  const queues = await openQueues(site, "running");
  const { running } = inFlight;
  const ratio = (work: () => Promise<void>) => () => ratePerSecond(running, quick ? 10 : 300, work);
  const bare = async () => {
    const tx = await site.pool.connect();
    try {
      await tx.query("begin");
      await tx.query("insert into effects (key) values ($1)", ["bare"]);
      await tx.query("commit");
    } finally {
      tx.release();
    }
  };
  const turns = Object.entries(queues).map(
    ([name, { runsPerSecond }]) => [name, () => runsPerSecond(quick ? 5 : 300)] as const,
  );
  const reference = "bare transaction";
  const contenders: Record<string, Turn> = {
    [reference]: ratio(bare),
    [inline]: ratio(site.inline),
    ...Object.fromEntries(turns),
  };
  const lanes = await takeTurns(contenders, quick ? 1 : 9);
  return { title: `Inbox, running, ${running} at a time`, unit: "/s", reference, lanes, bars: [] };
}

/** Measures how fast the events of other keys run while the events of one key wait behind a dead letter. */
export async function holdingRace(site: Site, quick: boolean): Promise<Race> {
  const open = (name: string, waiting: number) => {
    let sent = 0;
    return site.pgBoss(`holding-${name}`, {
      afterDead: "hold",
      // The first event becomes the dead letter.
      partitionBy: () => ((sent += 1) <= waiting ? "held" : `key ${sent % 50}`),
    });
  };
  const later = 100;
  const free = await open("free", 0);
  const holding = await open("held", later + 1);
  await holding.poison(later);
  const rate =
    ({ runsPerSecond }: Queued) =>
    () =>
      runsPerSecond(quick ? 5 : 300);
  const reference = "no key held";
  const lane = `a key held, with ${later} events that wait`;
  const contenders = { [reference]: rate(free), [lane]: rate(holding) };
  const lanes = await takeTurns(contenders, quick ? 1 : 15);
  const bars = [{ lane, against: reference, atLeast: 0.95, aim: 0.95 }];
  const title = `Inbox on pg-boss, running other keys, ${inFlight.running} at a time`;
  return { title, unit: "/s", reference, lanes, bars };
}

/** Measures the bytes that a waiting pg-boss job takes in the table and its indexes. The table must be empty. */
export async function bytesRace(site: Site, quick: boolean): Promise<Race> {
  const { accept } = await site.pgBoss("bytes");
  const jobs = quick ? 100 : 5_000;
  for (let sent = 0; sent < jobs; sent += 1) await accept();
  const { rows } = await site.pool.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(class.oid)) as bytes
     from pg_class class join pg_namespace space on space.oid = relnamespace
     where nspname = 'pgboss' and relname like 'job%' and relkind = 'r'`,
  );
  const lanes = [{ name: "pg-boss", values: [Number(rows[0]?.bytes) / jobs] }];
  return { title: "Inbox, bytes per waiting job of 1 kB", unit: "B", lanes, bars: [] };
}

/**
 * Measures how much CPU time the branch for queues costs a receiver that has no queue. Other load on the machine
 * affects CPU time less than real time.
 */
export async function branchRace(folder: string, quick: boolean): Promise<Race> {
  const cores = await bothCores(folder);
  const next = deliveriesOf(1_024);
  const calls = quick ? 20 : 1_000;
  const turnOf = ({ createReceiver }: (typeof cores)["with"]): Turn => {
    // Discards the log, because the receiver would log that the memory store is full.
    const { receive } = createReceiver({ secret, on: { [eventType]: () => {} }, log: () => {} });
    return async () => {
      const start = process.cpuUsage();
      for (let call = 0; call < calls; call += 1) {
        const { headers, body } = next();
        const outcome = await receive({ method: "POST", headers: (name) => headers[name], body });
        if (outcome.code !== "processed") throw new Error(`A delivery ended as ${outcome.code}.`);
      }
      const { user, system } = process.cpuUsage(start);
      return (user + system) / calls;
    };
  };
  const [lane, reference] = ["svc-webhooks", "without the branch for queues"];
  const turns = { [reference]: turnOf(cores.without), [lane]: turnOf(cores.with) };
  const lanes = await takeTurns(turns, quick ? 1 : 600);
  const bars = [{ lane, against: reference, atMost: 1.01, aim: 1.01 }];
  return { title: "receive() without inboxes, 1 kB, CPU time", unit: "µs", reference, lanes, bars };
}
