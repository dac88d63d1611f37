import { createReceiver } from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import {
  crashReport,
  type CrashTestOptions,
  type CrashTestReport,
} from "@svc-webhooks/testing/crash-test";
import type { Pool } from "pg";
import { apiAt, tables, type Planted } from "./handlers.js";

/** Runs a planted handler in form A. */
export const reportOf = (
  { handler, events = [fixture("email.delivered")] }: Planted,
  options: Partial<CrashTestOptions<Pool>> = {},
): Promise<CrashTestReport> =>
  crashReport<Pool>({
    events,
    prepare: async ({ pool }) => {
      await migrate(pool);
      await pool.query(tables);
    },
    receiver({ secret, clock, logger, pool }) {
      const store = postgresStore(pool);
      const api = apiAt("http://api.example.com");
      const handle = handler({ pool, store, ...api, longMs: 12_000 });
      return createReceiver({
        name: "crash-test",
        secret,
        clock,
        store,
        logger,
        on: { "*": handle },
      });
    },
    ...options,
  });

/** The finding's name without the host: `duplicate charge`. */
export const nameOf = ({
  kind,
  effect,
}: {
  readonly kind: string;
  readonly effect: string;
}): string => `${kind} ${effect.replace("POST api.example.com/", "")}`;
