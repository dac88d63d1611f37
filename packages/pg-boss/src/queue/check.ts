import {
  assertSchema,
  difference,
  differencesOf,
  missing,
  otherPolicy,
  type InboxQueue,
} from "./queue.js";

const dayMs = 86_400_000;

/** Resolves to the conditions that endanger jobs, one sentence each. */
export async function check(queue: InboxQueue): Promise<readonly string[]> {
  const inQueues = [
    ...(await differences(queue, queue.name, queue.settings)),
    ...(await differences(queue, queue.dead, queue.deadSettings)),
  ];
  // The other checks need both queues.
  if (inQueues.some((text) => text.includes("does not exist"))) return inQueues;
  await assertSchema(queue);
  return [
    ...inQueues,
    ...(await inDatabase(queue)),
    ...(await inProcesses(queue)),
    ...(await inDeadLetters(queue)),
  ];
}

async function differences(
  queue: InboxQueue,
  name: string,
  settings: InboxQueue["settings"],
): Promise<readonly string[]> {
  const names = await differencesOf(queue, name, settings);
  if (!names) return [missing(name)];
  return names.map((setting) =>
    setting === "policy" ? otherPolicy(queue) : difference(name, setting, settings),
  );
}

async function inDatabase({ boss }: InboxQueue): Promise<readonly string[]> {
  const names = ["synchronous_commit", "fsync"];
  const { rows } = await boss
    .getDb()
    .executeSql(`select ${names.map((name) => `current_setting('${name}') as ${name}`).join()}`);
  return Object.entries(Object(rows[0]) as Record<string, string>)
    .filter(([, value]) => value === "off")
    .map(
      ([name]) =>
        `\`${name}\` of PostgreSQL is off, so a crash of the database loses deliveries that were acknowledged. Turn it on.`,
    );
}

async function inProcesses({ boss, name }: InboxQueue): Promise<readonly string[]> {
  const found: string[] = [];
  if (boss.listenerCount("error") === 0) found.push(noListener);
  const instances = (await boss.getInstances()).filter(({ live }) => live);
  if (instances.length > 0 && !instances.some(({ supervise }) => supervise)) {
    found.push(
      "`supervise` is off in all processes, so the jobs of a killed worker stay active forever. Leave it on in one of them.",
    );
  }
  for (const { poolMax, workers } of instances) {
    const loops = workers
      .filter(({ queue }) => queue === name)
      .reduce((sum, { localConcurrency }) => sum + localConcurrency, 0);
    // A loop uses a connection only to fetch a job, to keep it and to settle it.
    const needed = Math.ceil(loops / 4) + 2;
    if (poolMax !== null && loops > 0 && poolMax < needed) {
      found.push(
        `\`max\` of PgBoss is ${poolMax} in a process that needs ${needed} connections for its workers. Raise it.`,
      );
    }
  }
  return found;
}

export const noListener =
  '`boss` has no listener for "error", so an interrupted connection ends this process. Call boss.on("error", console.error) before.';

async function inDeadLetters({ boss, dead }: InboxQueue): Promise<readonly string[]> {
  const [oldest] = await boss.findJobs(dead, { queued: true, limit: 1 });
  if (!oldest || oldest.createdOn.getTime() > Date.now() - dayMs) return [];
  return [
    `The queue "${dead}" has dead letters that are older than a day. Release or discard them.`,
  ];
}
