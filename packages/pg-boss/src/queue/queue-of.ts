import { assertOptions, assertValid } from "@svc-webhooks/core";
import type { PgBossInboxOptions } from "../options.js";
import type { PgBossLike } from "../pg-boss-like.js";
import type { InboxQueue } from "./queue.js";

const year = 31_536_000;
const dayMs = 86_400_000;
const seconds = (ms: number) => Math.ceil(ms / 1_000);

/** Returns the queue of an inbox, with the settings that its options require. */
export function queueOf(boss: PgBossLike, options: PgBossInboxOptions): InboxQueue {
  const { queue: name = "webhooks", partitionBy, afterDead, retry = {} } = options;
  const { maxRunMs = 900_000, schema = "pgboss", onDiscard } = options;
  assertOptions(retry, ["limit", "firstMs", "mostMs"], "retry");
  const { limit = 20, firstMs = 1_000, mostMs = Math.max(600_000, firstMs) } = retry;
  assertValid(
    typeof name === "string" && /^[\w./-]{1,200}$/.test(name),
    "queue",
    "`queue` must have 1 to 200 characters: letters, digits, and `_`, `-`, `.` or `/`.",
  );
  for (const [option, value] of Object.entries({ partitionBy, onDiscard })) {
    const isValid = value === undefined || typeof value === "function";
    assertValid(isValid, option, `\`${option}\` must be a function.`);
  }
  assertValid(
    afterDead === undefined || (partitionBy && ["continue", "hold"].includes(afterDead)),
    "afterDead",
    '`afterDead` must be "continue" or "hold", and needs `partitionBy`.',
  );
  assertValid(
    typeof schema === "string" && /^[a-z_]\w{0,62}$/i.test(schema),
    "schema",
    "`schema` must be the name of the schema of pg-boss.",
  );
  assertWhole(limit, "retry.limit", 1, 1_000);
  assertWhole(firstMs, "retry.firstMs", 1_000, dayMs);
  assertWhole(mostMs, "retry.mostMs", firstMs, dayMs);
  assertWhole(maxRunMs, "maxRunMs", 1_000, dayMs - 60_000);
  const dead = `${name}.dead`;
  const holds = afterDead === "hold";
  return {
    boss,
    name,
    dead,
    schema,
    jobs: `${schema}.job`,
    partitionBy,
    holds,
    attempts: limit,
    onDiscard,
    settings: {
      policy: partitionBy ? "key_strict_fifo" : "standard",
      // By default, pg-boss deletes a job that has waited for 14 days.
      retentionSeconds: year,
      // pg-boss deletes failed jobs too. A held key needs its failed job, so the worker removes the others.
      deleteAfterSeconds: holds ? 0 : 3_600,
      deadLetter: dead,
      // The shortest that pg-boss allows.
      heartbeatSeconds: 10,
      expireInSeconds: seconds(maxRunMs) + 60,
      retryLimit: limit - 1,
      retryDelay: seconds(firstMs),
      retryBackoff: true,
      retryDelayMax: seconds(mostMs),
    },
    deadSettings: { retentionSeconds: year },
  };
}

function assertWhole(value: unknown, option: string, min: number, max: number): void {
  assertValid(
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
    option,
    `\`${option}\` must be a whole number from ${min} to ${max}.`,
  );
}
