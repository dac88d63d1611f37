import { assertValid } from "@svc-webhooks/core/adapter";
import { assertWhole, longestRetryMs, retryDelays } from "@svc-webhooks/core/inbox";
import type { PgBossInboxOptions } from "../options.js";
import type { PgBossLike } from "../pg-boss-like.js";
import { spareAttempts, type InboxQueue } from "./queue.js";

const year = 31_536_000;
const seconds = (ms: number) => Math.ceil(ms / 1_000);

/** Checks the options of an inbox and returns its queue, with the settings that they require. */
export function queueOf(boss: PgBossLike, options: PgBossInboxOptions): InboxQueue {
  const { queue: name = "webhooks", partitionBy, afterDead } = options;
  const { maxRunMs = 900_000, schema = "pgboss", onDiscard } = options;
  assertValid(
    typeof name === "string" && /^[\w./-]{1,200}$/.test(name) && !/\.dead$/i.test(name),
    "queue",
    "`queue` must have 1 to 200 characters: letters, digits, and `_`, `-`, `.` or `/`. It must not end in `.dead`: such names are reserved for dead letters.",
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
    "`schema` must be the name of pg-boss's schema.",
  );
  // At least 1 s, because pg-boss applies the delays itself after a worker was killed, and only in whole seconds.
  const retry = retryDelays(options.retry, { leastMs: 1_000 });
  assertWhole(maxRunMs, "maxRunMs", 1_000, longestRetryMs - 60_000);
  const mostAttempts = retry.limit + spareAttempts;
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
    retry,
    mostAttempts,
    onDiscard,
    settings: {
      policy: partitionBy ? "key_strict_fifo" : "standard",
      // One year, because by default pg-boss deletes a job that has waited for 14 days.
      retentionSeconds: year,
      // With 0, pg-boss keeps all jobs that have ended: failed ones must stay, because they hold their keys, and the
      // worker removes done ones.
      deleteAfterSeconds: holds ? 0 : 3_600,
      deadLetter: dead,
      // The shortest interval that pg-boss allows.
      heartbeatSeconds: 10,
      expireInSeconds: seconds(maxRunMs) + 60,
      retryLimit: mostAttempts - 1,
      retryDelay: seconds(retry.firstMs),
      retryBackoff: true,
      retryDelayMax: seconds(retry.mostMs),
    },
    deadSettings: { retentionSeconds: year },
  };
}
