import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { ReceiverSettings } from "./receiver.js";

/** A slot for a receiver's process, which another process may fill later. */
export interface Place {
  readonly process: ChildProcess;
  readonly port: number;
  /** Ends the process with SIGKILL. */
  readonly kill: () => Promise<void>;
  /** Starts another process on this port, or on any if it is 0. */
  readonly start: (port: number) => Promise<void>;
}

export interface Herd {
  readonly places: readonly Place[];
  /** Sends SIGTERM to all processes, and resolves when they have finished their runs and exited. */
  readonly drain: () => Promise<void>;
  readonly killAll: () => void;
}

/** Starts receivers, each in its own process. */
export async function startHerd(
  size: number,
  settings: Omit<ReceiverSettings, "port">,
): Promise<Herd> {
  const script = await bundledReceiver();
  const places = await Promise.all(Array.from({ length: size }, () => place(script, settings)));
  return {
    places,
    async drain() {
      await Promise.all(
        places.map(async ({ process }) => {
          const exited = once(process, "exit");
          process.kill("SIGTERM");
          await exited;
        }),
      );
    },
    killAll: () => {
      for (const { process } of places) process.kill("SIGKILL");
    },
  };
}

async function place(script: string, settings: Omit<ReceiverSettings, "port">): Promise<Place> {
  const start = async (wanted: number) => {
    const argument: ReceiverSettings = { ...settings, port: wanted };
    const child = spawn(process.execPath, [script, JSON.stringify(argument)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const ended = once(child, "exit").then(() =>
      Promise.reject(new Error("The receiver exited before it listened.")),
    );
    const [port] = (await Promise.race([once(child, "message"), ended])) as [number];
    return { child, port };
  };
  let current = await start(0);
  return {
    get process() {
      return current.child;
    },
    get port() {
      return current.port;
    },
    async kill() {
      const exited = once(current.child, "exit");
      current.child.kill("SIGKILL");
      await exited;
    },
    async start(port) {
      current = await start(port);
    },
  };
}

async function bundledReceiver(): Promise<string> {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const bundle = await rolldown({ input: `${here}receiver.ts`, external: /^[^./]/ });
  const file = `${here}.build/receiver.mjs`;
  await bundle.write({ file });
  return file;
}
