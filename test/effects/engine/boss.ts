import { bossOf, type TestBoss } from "../../pg-boss/engine/boss.js";

/** A job of an effect. */
export interface Job {
  readonly id: string;
  readonly data: Data;
}

/** The payload of a job. */
export interface Data {
  readonly key: string;
  readonly order: string;
}

/** The member `db` of the options of `send`. */
export interface Db {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** A `PgBoss`, as applications call it. */
export interface Boss extends Pick<TestBoss, "start" | "stop" | "fetch"> {
  createQueue(queue: string, options?: object): Promise<unknown>;
  send(queue: string, data: Data, options?: { readonly db?: Db | undefined }): Promise<unknown>;
  work(
    queue: string,
    options: object,
    run: (jobs: readonly Job[]) => Promise<unknown>,
  ): Promise<unknown>;
  redrive(queue: string): Promise<number>;
}

/** Returns a `PgBoss` that ignores lost connections. */
export const createBoss = (connectionString: string, options: object = {}): Boss =>
  bossOf(connectionString, options) as unknown as Boss;
