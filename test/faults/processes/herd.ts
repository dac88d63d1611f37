import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { bundled, drained, startChild } from "./child.js";
import type { ReceiverSettings } from "./receiver.js";

/** A slot for a receiver process. Once that process is killed, another one can be started in the slot. */
export interface Place {
  readonly process: ChildProcess;
  readonly port: number;
  /** Kills the process with SIGKILL, and resolves when it has exited. */
  readonly kill: () => Promise<void>;
  /** Starts another process on this port, or on any free port if it is 0. */
  readonly start: (port: number) => Promise<void>;
}

export interface Herd {
  readonly places: readonly Place[];
  /** Sends SIGTERM to all processes, and resolves when they have finished their runs and exited. */
  readonly drain: () => Promise<void>;
  /** Kills all processes with SIGKILL, and resolves when they have exited. */
  readonly killAll: () => Promise<void>;
}

/** Starts receivers, each in its own process. */
export async function startHerd(
  size: number,
  settings: Omit<ReceiverSettings, "port">,
): Promise<Herd> {
  const script = await bundled(fileURLToPath(new URL("receiver.ts", import.meta.url)));
  const places = await Promise.all(Array.from({ length: size }, () => place(script, settings)));
  return {
    places,
    async drain() {
      await Promise.all(places.map(drained));
    },
    async killAll() {
      await Promise.all(places.map((one) => one.kill()));
    },
  };
}

async function place(script: string, settings: Omit<ReceiverSettings, "port">): Promise<Place> {
  const start = (wanted: number) => {
    const argument: ReceiverSettings = { ...settings, port: wanted };
    return startChild(script, argument);
  };
  let current = await start(0);
  return {
    get process() {
      return current.process;
    },
    get port() {
      return current.port;
    },
    async kill() {
      const { process } = current;
      if (process.exitCode !== null || process.signalCode !== null) return;
      const exited = once(process, "exit");
      process.kill("SIGKILL");
      await exited;
    },
    async start(port) {
      current = await start(port);
    },
  };
}
