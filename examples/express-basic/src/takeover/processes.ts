import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { migrate, type Database, type Query } from "svc-webhooks/postgres";
import type { FromReceiver } from "./receiver.js";
import { remoteDatabase } from "./remote-database.js";

const fileOf = (module: string) => fileURLToPath(new URL(`${module}.js`, import.meta.url));

/** The start of a handler. */
export interface Run {
  readonly run: number;
  readonly fence: number;
}

export interface ReceiverProcess {
  readonly url: string;
  /** The runs that this process has started. */
  readonly runs: readonly Run[];
  /** Resolves when the process has started this many runs. */
  started(runs: number): Promise<void>;
  /** Ends the process with SIGKILL, which it cannot handle. */
  kill(): Promise<void>;
}

/** Two receivers, and a connection to the database that they share. */
export interface Processes {
  readonly a: ReceiverProcess;
  readonly b: ReceiverProcess;
  readonly database: Database<Query>;
  stop(): Promise<void>;
}

export async function startProcesses(): Promise<Processes> {
  // V8's optimizing compiler takes longer than it saves in a few seconds of PGlite.
  const child = fork(fileOf("database-process"), { execArgv: ["--liftoff-only"] });
  const exited = once(child, "exit");
  const [port] = (await once(child, "message")) as [number];
  const database = remoteDatabase(port);
  const prepare = async () => {
    await migrate(database);
    await database.query("create table effects (type text not null)", []);
  };
  const [a, b] = await Promise.all([startReceiver(port, "A"), startReceiver(port, "B"), prepare()]);
  return {
    a,
    b,
    database,
    async stop() {
      await Promise.all([a.kill(), b.kill()]);
      child.kill();
      await exited;
    },
  };
}

async function startReceiver(databasePort: number, name: string): Promise<ReceiverProcess> {
  const child = fork(fileOf("receiver"), [String(databasePort), name]);
  const exited = once(child, "exit");
  const runs: Run[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    child.on("message", (message: FromReceiver) => {
      if ("url" in message) resolve(message.url);
      else runs.push(message);
    });
    child.once("exit", () => reject(new Error("A receiver process exited before it listened.")));
  });
  return {
    url: `${url}/webhooks`,
    runs,
    async started(count) {
      while (runs.length < count) await once(child, "message");
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
