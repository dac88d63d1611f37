import { AsyncResource } from "node:async_hooks";
import { inside } from "../virtual/inside.js";
import type { SimulatedProcess } from "../virtual/process.js";
import { whereCalled } from "../surface/source.js";
import { optional } from "./engine.js";
import type { Calling, Server } from "./server.js";

/** The members of a `Pool` of pg 8 that stores and query builders use. */
export interface PgPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly options: {
    readonly connectionTimeoutMillis?: number | undefined;
    readonly max?: number | undefined;
  };
  query(text: string, values?: readonly unknown[]): Promise<PgResult>;
  connect(): Promise<PgClient>;
  connect(callback: (error: Error | undefined, client: PgClient | undefined) => void): void;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): this;
  on(event: "connect" | "acquire" | "remove", listener: (client: PgClient) => void): this;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Node's types
  listeners(event: "error"): Function[];
}

/** The result of a statement. */
export interface PgResult {
  // oxlint-disable-next-line typescript/no-explicit-any -- as in the types of pg
  readonly rows: any[];
  readonly rowCount: number | null;
  readonly command: string;
}

/** The members of a `PoolClient` of pg 8 that stores and query builders use. */
export interface PgClient {
  query(text: string, values?: readonly unknown[]): Promise<PgResult>;
  on(event: "error", listener: (error: Error) => void): this;
  off(event: "error", listener: (error: Error) => void): this;
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Node's types
  listeners(event: "error"): Function[];
  end(): Promise<void>;
  release(error?: Error | boolean): void;
}

type Constructor<Instance> = new (config: object) => Instance;

/** The classes of pg that `createPool` extends. */
interface Pg {
  readonly Client: Constructor<{ query(...args: unknown[]): unknown }>;
  readonly Pool: Constructor<{
    query(...args: unknown[]): unknown;
    connect(...args: unknown[]): unknown;
  }>;
}

/**
 * Creates a real `Pool` of pg whose connections lead to the server of the history.
 *
 * @throws CrashTestError `package_missing`
 */
export function createPool(server: Server, owner: SimulatedProcess): PgPool {
  const { Client, Pool } = optional("pg", "pg") as Pg;

  class CrossingClient extends Client {
    readonly #callings: Calling[];

    constructor(config: object) {
      const callings: Calling[] = [];
      super({ ...config, ssl: false, stream: () => server.connect(owner, callings) });
      this.#callings = callings;
    }

    override query(...args: unknown[]): unknown {
      return this.queryFrom(whereCalled(), args);
    }

    /** Sends a query of the code under test. `source` returns the place of the call. */
    queryFrom(source: Calling["source"], args: readonly unknown[]): unknown {
      const [first] = args;
      const text = typeof first === "string" ? first : (first as { readonly text?: unknown }).text;
      const { attempt } = inside.getStore() ?? {};
      if (typeof text === "string") this.#callings.push({ text, attempt, source });
      return super.query(...args.map(inContext));
    }
  }

  class CrossingPool extends Pool {
    override connect(...args: unknown[]): unknown {
      return super.connect(...args.map(inContext));
    }

    override query(...args: unknown[]): unknown {
      const isCursor = typeof Object(args[0]).submit === "function";
      if (isCursor) return super.query(...args.map(inContext));
      const callback = args.at(-1);
      const result = this.#query(
        whereCalled(),
        args.filter((arg) => arg !== callback || !isFunction(arg)),
      );
      if (!isFunction(callback)) return result;
      void callBack(callback, result);
      return undefined;
    }

    async #query(source: Calling["source"], args: readonly unknown[]): Promise<unknown> {
      const client = (await this.connect()) as CrossingClient & PgClient;
      let failure: Error | undefined;
      const onError = (error: Error) => {
        failure = error;
      };
      client.on("error", onError);
      try {
        return await client.queryFrom(source, args);
      } finally {
        client.off("error", onError);
        client.release(failure);
      }
    }
  }

  const pool = new CrossingPool({
    Client: CrossingClient,
    max: 10,
    connectionTimeoutMillis: 1_000,
    // Disables the idle timeout, because a timer of an idle connection would outlive the test.
    idleTimeoutMillis: 0,
    host: "crash-test",
    user: "postgres",
    password: "",
    database: "postgres",
  });
  return pool as unknown as PgPool;
}

const isFunction = (value: unknown): value is (...args: unknown[]) => unknown =>
  typeof value === "function";

/** Calls a Node-style callback when `result` settles. An error that the callback throws ends the simulated process. */
async function callBack(
  callback: (...args: unknown[]) => unknown,
  result: Promise<unknown>,
): Promise<void> {
  const settled = await result.then(
    (value) => [undefined, value],
    (error: unknown) => [error],
  );
  callback(...settled);
}

/** Binds a function to the current context, because pg may call it in the context of another delivery. */
const inContext = (value: unknown): unknown =>
  typeof value === "function" ? AsyncResource.bind(value as () => void) : value;
