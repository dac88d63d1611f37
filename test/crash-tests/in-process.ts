import { createReceiver } from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import {
  crashReport,
  type CrashTestOptions,
  type CrashTestReport,
} from "@svc-webhooks/testing/crash-test";
import { sized } from "@svc-webhooks/kit/sized";
import type { Pool } from "pg";
import { apiAt, tables, type Planted } from "./handlers.js";

/** One fault per history, of kinds that reveal most mistakes. `planted.slow.ts` always injects all into correct handlers. */
export const oneFault: Partial<CrashTestOptions<Pool>> = {
  maxFaults: 1,
  faults: sized(["crash", "fail", "status"], undefined),
};

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
