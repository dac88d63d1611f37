import { assertValid, WebhookError, type AnyEvent } from "@svc-webhooks/core";
import type { InboxEntry } from "@svc-webhooks/core/inbox";
import type { BossQueueSettings, PgBossLike } from "../pg-boss-like.js";

/** The queue of an inbox. */
export interface InboxQueue {
  readonly boss: PgBossLike;
  readonly name: string;
  /** The name of the queue of its dead letters. */
  readonly dead: string;
  /** The schema of pg-boss. */
  readonly schema: string;
  /** The table of all jobs, for statements that pg-boss has no function for. */
  readonly jobs: string;
  readonly partitionBy: ((event: AnyEvent) => string | undefined) | undefined;
  /** Whether a dead letter holds the later events of its key. */
  readonly holds: boolean;
  /** The number of attempts that a job has. */
  readonly attempts: number;
  readonly onDiscard: ((entry: InboxEntry, reason: string) => unknown) | undefined;
  readonly settings: BossQueueSettings;
  readonly deadSettings: BossQueueSettings;
}

/** Returns the names of the settings in which a queue differs, such as `"retentionSeconds"`; undefined if it does not exist. */
export async function differencesOf(
  { boss }: InboxQueue,
  name: string,
  settings: BossQueueSettings,
): Promise<readonly (keyof BossQueueSettings)[] | undefined> {
  const found: BossQueueSettings | null = await boss.getQueue(name);
  if (!found) return undefined;
  const names = Object.keys(settings) as (keyof BossQueueSettings)[];
  return names.filter((setting) => found[setting] !== settings[setting]);
}

/** Creates the queues, or changes their settings. Resolves to whether it changed anything. */
export async function setUp(queue: InboxQueue): Promise<boolean> {
  const { boss, name, dead, settings, deadSettings } = queue;
  let isChanged = false;
  // The queue names its dead letter queue, so that one must exist.
  for (const [one, wanted] of [
    [dead, deadSettings],
    [name, settings],
  ] as const) {
    const differences = await differencesOf(queue, one, wanted);
    if (differences?.length === 0) continue;
    isChanged = true;
    if (differences) {
      assertPolicy(queue, differences);
      const { policy: _, ...changeable } = wanted;
      await boss.updateQueue(one, changeable);
    } else {
      await boss.createQueue(one, wanted);
    }
  }
  await assertSchema(queue);
  return isChanged;
}

/** Asserts that the queue, which exists, is in the schema of the options. */
export async function assertSchema({ boss, name, schema }: InboxQueue): Promise<void> {
  const text = `select 1 from ${schema}.queue where name = $1`;
  const { rows } = await boss
    .getDb()
    .executeSql(text, [name])
    .catch((error: unknown) => {
      // PostgreSQL: undefined_table or invalid_schema_name.
      if (["42P01", "3F000"].includes(String(Object(error).code))) return { rows: [] };
      throw error;
    });
  assertValid(
    rows.length > 0,
    "schema",
    `The queue "${name}" is not in the schema "${schema}". Set \`schema\` to the \`schema\` of PgBoss.`,
  );
}

/** A column `found` with whether the queue exists, whose name is the first parameter. */
export const foundColumn = ({ schema }: InboxQueue): string =>
  `exists (select 1 from ${schema}.queue where name = $1) as found`;

/** Asserts that the queue exists, from the column of {@link foundColumn} or another value that only a queue has. */
export function assertFound({ name }: InboxQueue, found: unknown): asserts found {
  if (!found) throw new WebhookError("queue_missing", missing(name));
}

/** Asserts that the queue exists, keeps the order that `partitionBy` promises, and keeps its dead letters. */
export async function assertSetUp(queue: InboxQueue): Promise<void> {
  const { name, settings, holds } = queue;
  const differences = await differencesOf(queue, name, settings);
  assertFound(queue, differences);
  assertPolicy(queue, differences);
  const found = differences.find(
    (setting) => setting === "deadLetter" || (holds && setting === "deleteAfterSeconds"),
  );
  if (found) throw new WebhookError("queue_settings", difference(name, found, settings));
  await assertSchema(queue);
}

/** The options that decide settings. */
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
  const source = option === undefined ? "an inbox requires" : `the option \`${option}\` requires`;
  return `\`${setting}\` of the queue "${name}" is not ${JSON.stringify(settings[setting])}, as ${source}. Call setup() of the inbox.`;
};

export const missing = (name: string): string =>
  `The queue "${name}" does not exist. Call setup() of the inbox when you deploy.`;

export const otherPolicy = (queue: InboxQueue): string =>
  `The queue "${queue.name}" was created ${queue.partitionBy ? "without" : "with"} \`partitionBy\`, and pg-boss never changes the policy of a queue. Give the inbox another \`queue\`, and keep a worker on this one until it is empty.`;

function assertPolicy(queue: InboxQueue, differences: readonly string[]): void {
  if (differences.includes("policy")) throw new WebhookError("queue_policy", otherPolicy(queue));
}
