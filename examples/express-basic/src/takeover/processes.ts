import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { memoryStore } from "@svc-webhooks/core";
import { fastClock } from "./clock.js";
import type { FromReceiver } from "./messages.js";
import { serveStore } from "./shared-memory.js";

/** The start of a handler. */
export interface Run {
  readonly run: number;
  readonly fence: number;
}

export interface ReceiverProcess {
  readonly url: string;
  /** The runs that this process has started. */
  readonly runs: readonly Run[];
  /** Resolves when the process starts its first handler. */
  readonly running: Promise<unknown>;
  /** Ends the process with SIGKILL, which it cannot handle. */
  kill(): Promise<void>;
}

/** Two receiver processes on one store: that of `REDIS_URL`, or one in the memory of this process. */
export function startTwo(): Promise<[ReceiverProcess, ReceiverProcess]> {
  const store = memoryStore({ clock: fastClock });
  const start = () => {
    const child = fork(fileURLToPath(new URL("receiver.js", import.meta.url)));
    serveStore(store, child);
    return receiverProcess(child);
  };
  return Promise.all([start(), start()]);
}

async function receiverProcess(child: ChildProcess): Promise<ReceiverProcess> {
  const exited = once(child, "exit");
  const runs: Run[] = [];
  const running = new Promise<void>((resolve) => {
    child.on("message", (message: FromReceiver) => {
      if (!("run" in message)) return;
      runs.push(message);
      resolve();
    });
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.on("message", (message: FromReceiver) => {
      if ("url" in message) resolve(message.url);
    });
    child.once("exit", () => reject(new Error("A receiver process exited before it listened.")));
  });
  return {
    url: `${url}/webhooks`,
    runs,
    running,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
