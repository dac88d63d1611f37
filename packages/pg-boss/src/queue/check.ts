import {
  assertSchema,
  countDiffering,
  difference,
  differencesOf,
  is,
  missing,
  otherPolicy,
  sql,
  type InboxQueue,
} from "./queue.js";
import type { BossQueueSettings } from "../pg-boss-like.js";
import { replyTo } from "./replies.js";

const dayMs = 86_400_000;

/** Resolves to one text for each condition that endangers jobs. */
export async function check(queue: InboxQueue): Promise<readonly string[]> {
  const inMain = await differences(queue, queue.name, queue.settings);
  const inDead = await differences(queue, queue.dead, queue.deadSettings);
  const inQueues = [...(inMain ?? [missing(queue.name)]), ...(inDead ?? [missing(queue.dead)])];
  // Stops here if a queue is missing, because the other checks need both queues.
  if (!inMain || !inDead) return inQueues;
  await assertSchema(queue);
  return [
    ...inQueues,
    ...(await inJobs(queue, queue.name)),
    ...(await inJobs(queue, queue.dead)),
    ...(await inDatabase(queue)),
    ...(await inProcesses(queue)),
    ...(await inDeadLetters(queue)),
  ];
}

/**
 * Resolves to one text for each setting in which a queue differs from `settings`, or to undefined if there is no such
 * queue.
 */
async function differences(
  queue: InboxQueue,
  name: string,
  settings: InboxQueue["settings"],
): Promise<readonly string[] | undefined> {
  const deviations = await differencesOf(queue, name, settings);
  return (
    deviations &&
    (Object.keys(deviations) as (keyof BossQueueSettings)[]).map((setting) =>
      setting === "policy" ? otherPolicy(queue) : difference(name, setting, settings),
    )
  );
}

async function inJobs(queue: InboxQueue, name: string): Promise<readonly string[]> {
  const count = await countDiffering(queue, name);
  if (count === 0) return [];
  return [
    `Settings of ${count} jobs in the queue "${name}" differ from the options: pg-boss copied older ones. Call the inbox's setup().`,
  ];
}

/**
 * An SQL column with the schemas of the `search_path` in which other roles may create operators. Superusers, the
 * database's owner and PostgreSQL's predefined roles do not count.
 */
const openSchemas = `coalesce((
  select string_agg(pg_catalog.quote_ident(nspname), ', ') from pg_catalog.pg_namespace schema
  where nspname = any (current_schemas(true)) and exists (
    select from pg_catalog.pg_roles
    where not rolsuper and rolname <> current_user and rolname operator(pg_catalog.!~) '^pg_'
      and oid <> (select datdba from pg_catalog.pg_database where datname = current_database())
      and pg_catalog.has_schema_privilege(oid, schema.oid, 'create')
  )
), '') as open`;

async function inDatabase(queue: InboxQueue): Promise<readonly string[]> {
  const names = ["synchronous_commit", "fsync"];
  const settings = names.map((name) => `current_setting('${name}') as ${name}`);
  const [row] = await sql<Record<string, string>>(
    queue,
    `select ${[...settings, openSchemas].join()}`,
    [],
  );
  const problems = names
    .filter((name) => row?.[name] === "off")
    .map(
      (name) =>
        `\`${name}\` of PostgreSQL is off, so a crash of the database loses acknowledged deliveries. Turn it on.`,
    );
  if (row?.["open"]) {
    problems.push(
      `Other roles may create operators in ${row["open"]}, and the statements of pg-boss would use them with the rights of its role. Pass options: "-c search_path=pg_catalog" to PgBoss.`,
    );
  }
  return problems;
}

async function inProcesses({ boss, name }: InboxQueue): Promise<readonly string[]> {
  const problems: string[] = [];
  if (boss.listenerCount("error") === 0) problems.push(noListener);
  const all = await replyTo(boss, () => boss.getInstances());
  const instances = all.filter(({ live }) => live);
  if (instances.length > 0 && !instances.some(({ supervise }) => supervise)) {
    problems.push(
      "`supervise` is off in all processes, so the jobs of a killed worker stay active forever. Turn it on in at least one.",
    );
  }
  for (const { poolMax, workers } of instances) {
    const loops = workers
      .filter(({ queue }) => queue === name)
      .reduce((sum, { localConcurrency }) => sum + localConcurrency, 0);
    // One connection serves four loops, because a loop needs a connection only to fetch a job, to keep the job alive
    // and to settle it.
    const needed = Math.ceil(loops / 4) + 2;
    if (poolMax !== null && loops > 0 && poolMax < needed) {
      problems.push(
        `\`max\` of PgBoss is ${poolMax} in a process that needs ${needed} connections for its workers. Raise it.`,
      );
    }
  }
  return problems;
}

export const noListener =
  '`boss` has no listener for "error", so an interrupted connection ends this process. Call boss.on("error", console.error) first.';

async function inDeadLetters(queue: InboxQueue): Promise<readonly string[]> {
  const { dead, jobs } = queue;
  const [row] = await sql<{ readonly age: string | number | null }>(
    queue,
    `select extract(epoch from now() - min(created_on)) as age from ${jobs} where name = $1 and ${is("<", "active")}`,
    [dead],
  );
  if (Number(row?.age ?? 0) * 1_000 < dayMs) return [];
  return [
    `The queue "${dead}" has dead letters that are older than a day. Release or discard them.`,
  ];
}
