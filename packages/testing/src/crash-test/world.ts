import type { Clock, DeliveryStore, Logger } from "@svc-webhooks/core";
import type { PgPool } from "./postgres/pool.js";
import type { EffectOptions } from "./surface/effect.js";

/**
 * A simulated process, and the outside world, which outlives it.
 *
 * @typeParam Pool the type of `pool`, if the built-in one is not enough: `crashTest<import("pg").Pool>(…)`
 */
export interface World<Pool = PgPool> {
  /** The key that signs the deliveries. Pass it to your receiver. */
  readonly secret: string;
  /** The clock of the history. Pass it to your receiver. */
  readonly clock: Clock;
  /** Ignores all lines. Pass it to your receiver, which would log each fault of hundreds of histories. */
  readonly logger: Logger;
  /** A store in memory that all processes share. With PostgreSQL, use `postgresStore(world.pool)`, as your program does. */
  readonly store: DeliveryStore;
  /**
   * A `Pool` of pg over PGlite, which is loaded on first use. Each statement is a crossing. Drizzle and Kysely over pg
   * accept it. Needs the packages `pg` and `@electric-sql/pglite`.
   *
   * @throws CrashTestError `package_missing`
   */
  readonly pool: Pool;
  /**
   * Makes a function a crossing, so that faults are injected where it is called. `run` stands for the other side: it is
   * not interrupted, and it must not call a real service.
   *
   * @param name the effect's name in the report: `charge`
   * @param options `key` returns the idempotency key that the other side honours; `reads`: it changes nothing
   */
  readonly effect: <Args extends readonly unknown[], Result>(
    name: string,
    run: (...args: Args) => Result | Promise<Result>,
    options?: EffectOptions<Args>,
  ) => (...args: Args) => Promise<Result>;
}
