import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { basename, dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { NotStartedError } from "@svc-webhooks/kit/setup-errors";
import { isPackage } from "../../../tools/build/is-package.js";

/** Bundles a test module so that it can run in its own process. Packages stay external. */
export async function bundled(input: string): Promise<string> {
  const bundle = await rolldown({ input, external: isPackage });
  // Other test files bundle the same module at the same time.
  const dir = join(dirname(input), ".build", String(process.pid));
  // What a process imports only if it needs it is a file of its own.
  await bundle.write({ dir, entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" });
  return join(dir, basename(input).replace(/ts$/, "mjs"));
}

export interface Child {
  readonly process: ChildProcess;
  readonly port: number;
}

/**
 * Starts a process with these settings, and awaits its first message, which is its port.
 *
 * @param withinMs the time after which a process that has sent no message is killed, in milliseconds. Default: none
 * @param node the program that runs the script. Default: this Node
 */
export async function startChild(
  script: string,
  settings: object,
  withinMs?: number,
  node: string = globalThis.process.execPath,
): Promise<Child> {
  const process = spawn(node, [script, JSON.stringify(settings)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(process, "exit").then(() =>
    Promise.reject(new NotStartedError("The receiver exited before it listened.")),
  );
  const kill = () => process.kill("SIGKILL");
  const timer = withinMs === undefined ? undefined : setTimeout(kill, withinMs);
  try {
    const [port] = (await Promise.race([once(process, "message"), ended])) as [number];
    return { process, port };
  } finally {
    clearTimeout(timer);
  }
}

/** Sends SIGTERM, and resolves when the process has finished its runs and exited. */
export async function drained({ process }: Pick<Child, "process">): Promise<void> {
  const exited = once(process, "exit");
  process.kill("SIGTERM");
  await exited;
}
