import { assertValid } from "@svc-webhooks/core/adapter";
import { engineOptions } from "@svc-webhooks/core/engine";
import { assertWhole, longestRetryMs } from "@svc-webhooks/core/inbox";
import type { PgBossInboxOptions } from "../options.js";
import type { PgBossLike } from "../pg-boss-like.js";
import { spareAttempts, type InboxQueue } from "./queue.js";

const names = ["queue", "partitionBy", "afterDead", "retry", "maxRunMs", "schema", "onDiscard"];
const year = 31_536_000;
const seconds = (ms: number) => Math.ceil(ms / 1_000);

/** Checks the options of an inbox and returns its queue, with the settings that they require. */
export function queueOf(boss: PgBossLike, options: PgBossInboxOptions): InboxQueue {
  // At least 1 s, because pg-boss applies the delays itself after a worker was killed, and only in whole seconds.
  const { queue: name, retry, ...shared } = engineOptions(options, names, { leastMs: 1_000 });
  const { maxRunMs = 900_000, schema = "pgboss" } = options;
  assertValid(
    typeof schema === "string" && /^[a-z_]\w{0,62}$/i.test(schema),
    "schema",
    "`schema` must be the name of pg-boss's schema.",
  );
  assertWhole(maxRunMs, "maxRunMs", 1_000, longestRetryMs - 60_000);
  const mostAttempts = retry.limit + spareAttempts;
  const dead = `${name}.dead`;
  return {
    boss,
    name,
    dead,
    schema,
    jobs: `${schema}.job`,
    ...shared,
    retry,
    mostAttempts,
    settings: {
      policy: shared.partitionBy ? "key_strict_fifo" : "standard",
      // One year, because by default pg-boss deletes a job that has waited for 14 days.
      retentionSeconds: year,
      // With 0, pg-boss keeps all jobs that have ended: failed ones must stay, because they hold their keys, and the
      // worker removes done ones.
      deleteAfterSeconds: shared.holds ? 0 : 3_600,
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
