import { WebhookError, type AnyEvent } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import type { InboxEntry, RetryDelays } from "@svc-webhooks/core/inbox";
import type { BossQueue, BossQueueSettings, PgBossLike } from "../pg-boss-like.js";
import { databaseOf, operatorMs, replyTo } from "./replies.js";

/** The queue of an inbox. */
export interface InboxQueue {
  readonly boss: PgBossLike;
  readonly name: string;
  /** The name of the dead-letter queue. */
  readonly dead: string;
  /** The database schema that pg-boss uses. */
  readonly schema: string;
  /** The table of all jobs, for statements for which pg-boss has no function. */
  readonly jobs: string;
  readonly partitionBy: ((event: AnyEvent) => string | undefined) | undefined;
  /** Whether a dead letter holds the later events of its key. */
  readonly holds: boolean;
  readonly retry: RetryDelays;
  /** The maximum number of attempts that pg-boss makes: the limit of `retry` plus {@link spareAttempts}. */
  readonly mostAttempts: number;
  readonly onDiscard: ((entry: InboxEntry, reason: string) => unknown) | undefined;
  readonly settings: BossQueueSettings;
  readonly deadSettings: BossQueueSettings;
}

/**
 * The number of attempts that pg-boss makes beyond the limit of `retry`. If the worker of the last attempt was killed
 * or has frozen, a spare attempt takes over the event and, unless the event was processed after all, makes the dead
 * letter. After that, the frozen worker can no longer commit anything for the event.
 */
export const spareAttempts = 10;

/**
 * Runs a statement of this package. Statements must qualify operators and functions whose operand types have no exact
 * match in `pg_catalog`, such as enums. Otherwise, PostgreSQL would run an exact match from another schema of the
 * `search_path` with the application's rights.
 */
export async function sql<Row>(
  { boss }: InboxQueue,
  text: string,
  values: unknown[],
  ms?: number,
): Promise<readonly Row[]> {
  const { rows } = await replyTo(boss, () => databaseOf(boss).executeSql(text, values), ms);
  return rows as Row[];
}

/**
 * Returns an SQL condition on the column `state`, such as `is("<", "active")`. pg-boss's enum defines the order of the
 * states.
 */
export const is = (operator: "=" | "<" | "<>", state: string, column = "state"): string =>
  `${column} operator(pg_catalog.${operator}) '${state}'`;

/**
 * Resolves to the settings in which a queue differs from `settings`, with the queue's values, or to undefined if the
 * queue does not exist.
 */
export async function differencesOf(
  { boss }: InboxQueue,
  name: string,
  settings: BossQueueSettings,
): Promise<Partial<BossQueueSettings> | undefined> {
  const bossQueue: BossQueue | null = await replyTo(boss, () => boss.getQueue(name));
  if (!bossQueue) return undefined;
  const own = bossQueue as BossQueueSettings;
  const names = Object.keys(settings) as (keyof BossQueueSettings)[];
  return Object.fromEntries(
    names
      .filter((setting) => own[setting] !== settings[setting])
      .map((setting) => [setting, own[setting]]),
  );
}

/** Creates the queues, or updates their settings and those of their jobs. Resolves to whether anything changed. */
export async function setUp(queue: InboxQueue): Promise<boolean> {
  const { boss, name, dead, settings, deadSettings } = queue;
  let isChanged = false;
  // The dead-letter queue comes first, because it must exist before the queue can name it.
  for (const [queueName, wanted] of [
    [dead, deadSettings],
    [name, settings],
  ] as const) {
    const differences = await differencesOf(queue, queueName, wanted);
    if (differences && Object.keys(differences).length === 0) continue;
    isChanged = true;
    if (differences) {
      assertPolicy(queue, differences);
      const { policy: _, ...changeable } = wanted;
      await replyTo(boss, () => boss.updateQueue(queueName, changeable));
    } else {
      await replyTo(boss, () => boss.createQueue(queueName, wanted));
    }
  }
  await assertSchema(queue);
  const changed = await updateJobs(queue);
  return isChanged || changed;
}

/**
 * Returns the SQL that finds jobs whose settings differ from the options (`where`), and the SQL that changes their
 * settings (`set`). Both are necessary because pg-boss copies the settings into each job and never updates the copies.
 * Jobs that have begun keep their maximum number of attempts.
 */
const copied = ({ settings, deadSettings, dead, mostAttempts }: InboxQueue, isDead: boolean) => {
  const { retentionSeconds } = isDead ? deadSettings : settings;
  // Uses an interval literal, because `pg_catalog` has no operator that multiplies an interval by a whole number.
  const until = `created_on + interval '${retentionSeconds} s'`;
  const isFresh = "retry_count = 0 and source_root_id is null";
  const columns: readonly (readonly [string, unknown])[] = isDead
    ? []
    : [
        ["deletion_seconds", settings.deleteAfterSeconds],
        ["expire_seconds", settings.expireInSeconds],
        ["heartbeat_seconds", settings.heartbeatSeconds],
        ["retry_limit", `case when ${isFresh} then ${mostAttempts - 1} else retry_limit end`],
        // The name of the dead-letter queue needs no escaping, because queue names contain no quotes.
        ["dead_letter", `'${dead}'`],
      ];
  const differs = [
    ...columns.map(([column, value]) => `${column} is distinct from ${String(value)}`),
    `keep_until < ${until}`,
  ];
  return {
    set: [...columns, ["keep_until", `greatest(keep_until, ${until})`]]
      .map(([column, value]) => `${column} = ${String(value)}`)
      .join(", "),
    where: `name = $1 and ${is("<>", "completed")} and (${differs.join(" or ")})`,
  };
};

/** The maximum number of jobs that one statement changes, so that the server replies in time. */
const batchSize = 5_000;

/** Updates the jobs of both queues to the settings of the options. Resolves to whether any job changed. */
async function updateJobs(queue: InboxQueue): Promise<boolean> {
  let isChanged = false;
  for (const name of [queue.name, queue.dead]) {
    const { set, where } = copied(queue, name === queue.dead);
    const some = `select id from ${queue.jobs} where ${where} limit ${batchSize}`;
    const text = `update ${queue.jobs} set ${set} where ${where} and id in (${some}) returning 1`;
    while ((await sql(queue, text, [name], operatorMs)).length > 0) isChanged = true;
  }
  return isChanged;
}

/** Resolves to the number of jobs in a queue whose stored settings differ from those of the options. */
export async function countDiffering(queue: InboxQueue, name: string): Promise<number> {
  const { where } = copied(queue, name === queue.dead);
  const text = `select count(*)::int as count from ${queue.jobs} where ${where}`;
  const [row] = await sql<{ readonly count: number }>(queue, text, [name], operatorMs);
  return row?.count ?? 0;
}

/** Asserts that the queue of `boss`, not another queue of the same name, is in the schema of the options. */
export async function assertSchema(queue: InboxQueue): Promise<void> {
  const { boss, name, schema } = queue;
  const own: BossQueue | null = await replyTo(boss, () => boss.getQueue(name));
  const text = `select created_on from ${schema}.queue where name = $1`;
  const rows = await sql<{ created_on: Date }>(queue, text, [name]).catch((error: unknown) => {
    // Treats the errors `undefined_table` and `invalid_schema_name` as a missing queue.
    if (["42P01", "3F000"].includes(String(Object(error).code))) return [];
    throw error;
  });
  const times = [rows[0]?.created_on, own?.createdOn].map((time) => Number(time && new Date(time)));
  assertValid(
    times[0] === times[1],
    "schema",
    `The queue "${name}" is not in the schema "${schema}". Set \`schema\` to the \`schema\` of PgBoss.`,
  );
}

/**
 * Returns the SQL of a column `found`, which is true if a queue exists whose name is the statement's first parameter.
 */
export const foundColumn = ({ schema }: InboxQueue): string =>
  `exists (select 1 from ${schema}.queue where name = $1) as found`;

/**
 * Asserts that the queue exists. `evidence` must be truthy if it does and falsy if not, like the column of
 * {@link foundColumn}.
 */
export function assertFound({ name }: InboxQueue, evidence: unknown): asserts evidence {
  if (!evidence) throw new WebhookError("queue_missing", missing(name));
}

/** Asserts that the queue exists, and that its order, its dead letters and `afterDead` are as the options require. */
export async function assertSetUp(queue: InboxQueue): Promise<void> {
  const { name, settings, holds } = queue;
  const differences = await differencesOf(queue, name, settings);
  assertFound(queue, differences);
  assertPolicy(queue, differences);
  const isHolding = differences.deleteAfterSeconds === 0;
  // Rejects a different `afterDead`, because a worker with "continue" would release keys that a worker with "hold"
  // holds.
  const isOther = "deleteAfterSeconds" in differences && (holds || isHolding);
  const setting = "deadLetter" in differences ? "deadLetter" : isOther && "deleteAfterSeconds";
  if (setting) throw new WebhookError("queue_settings", difference(name, setting, settings));
  await assertSchema(queue);
}

/** The option of the inbox that determines each setting, if there is one. */
const optionOf: Partial<Record<keyof BossQueueSettings, string>> = {
  retryLimit: "retry.limit",
  retryDelay: "retry.firstMs",
  retryDelayMax: "retry.mostMs",
  expireInSeconds: "maxRunMs",
  deleteAfterSeconds: "afterDead",
};

export const difference = (
  name: string,
  setting: keyof BossQueueSettings,
  settings: BossQueueSettings,
): string => {
  const option = optionOf[setting];
  const source = option === undefined ? "an inbox" : `\`${option}\``;
  return `\`${setting}\` of the queue "${name}" must be ${JSON.stringify(settings[setting])}, as ${source} requires. Call setup() of the inbox.`;
};

export const missing = (name: string): string =>
  `The queue "${name}" does not exist. Call setup() of the inbox when you deploy.`;

export const otherPolicy = (queue: InboxQueue): string =>
  `The queue "${queue.name}" was created ${queue.partitionBy ? "without" : "with"} \`partitionBy\`, and pg-boss never changes the policy of a queue. Give the inbox another \`queue\`, and keep a worker on this one until it is empty.`;

function assertPolicy(queue: InboxQueue, differences: object): void {
  if ("policy" in differences) throw new WebhookError("queue_policy", otherPolicy(queue));
}
