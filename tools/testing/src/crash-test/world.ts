import type { Clock, DeliveryStore, Logger } from "@svc-webhooks/core";
import type { PgPool } from "./postgres/pool.js";
import type { EffectOptions } from "./surface/effect.js";

/**
 * The parts of the simulation that your code uses. The data behind `store` and `pool` outlive each simulated process.
 *
 * @typeParam Pool the type of `pool`, if the built-in type is not enough: `crashTest<import("pg").Pool>(…)`
 */
export interface World<Pool = PgPool> {
  /** The key that signs the deliveries. Pass it to your receiver. */
  readonly secret: string;
  /** The clock of the history. Pass it to your receiver. */
  readonly clock: Clock;
  /** A logger that prints nothing. Pass it to your receiver, which otherwise logs all faults of hundreds of runs. */
  readonly logger: Logger;
  /** A store in memory that all processes share. For PostgreSQL, use `postgresStore(world.pool)` as in your program. */
  readonly store: DeliveryStore;
  /**
   * A `Pool` of pg over PGlite, which is loaded on first use. Each statement is a crossing: a call into which faults
   * are injected. Drizzle and Kysely over pg accept the pool. Needs the packages `pg` and `@electric-sql/pglite`.
   *
   * @throws CrashTestError `package_missing`
   */
  readonly pool: Pool;
  /**
   * Returns a function whose calls are crossings, so that faults are injected into them. `run` simulates the other
   * side, such as a service: faults do not interrupt it, and it must not call a real service.
   *
   * @param name the effect's name in the report, such as `charge`
   * @param options `key` returns the idempotency key that the other side honors; `reads` is true if `run` changes
   *   nothing
   */
  readonly effect: <Args extends readonly unknown[], Result>(
    name: string,
    run: (...args: Args) => Result | Promise<Result>,
    options?: EffectOptions<Args>,
  ) => (...args: Args) => Promise<Result>;
}
