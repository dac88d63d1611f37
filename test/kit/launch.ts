import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { rolldown } from "rolldown";
import { collected } from "./collected.js";
import { NotStartedError } from "./setup-errors.js";

export interface Served {
  readonly origin: string;
  readonly close: () => Promise<unknown>;
  /** Returns the server's output so far, if it can be read. */
  readonly printed?: () => string;
}

/** Returns the code of a module with all its packages, as it is deployed to an edge or a browser. */
export async function bundled(
  input: string,
  condition: "workerd" | "edge-light" | "browser",
): Promise<string> {
  const bundle = await rolldown({
    input,
    resolve: { conditionNames: [condition, "worker", "browser", "import"] },
    platform: "browser",
    external: /^(?:node|cloudflare):/,
  });
  const format = condition === "edge-light" ? "iife" : "esm";
  const { output } = await bundle.generate({ format });
  return output[0].code;
}

/** Returns the environment of a shell: the tests' own `NODE_ENV` is neither development nor production. */
export const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_ENV: undefined,
  NEXT_TELEMETRY_DISABLED: "1",
});

/** Ends a process and those that it has started. Windows has no process groups. */
function endGroup(pid: number): void {
  if (process.platform === "win32") spawnSync("taskkill", ["/pid", String(pid), "/t", "/f"]);
  else process.kill(-pid, "SIGKILL");
}

/** Starts a server that prints its port at the end of a line. */
export async function spawned(command: string, ...args: readonly string[]): Promise<Served> {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: environment(),
    // The process has its own group: a command that npm installs often only starts the real one.
    detached: true,
  });
  const output = collected(child.stdout);
  const exited = once(child, "exit");
  const ended = exited.then(([code]) => {
    throw new NotStartedError(`${command} ${args.join(" ")} exited with code ${String(code)}.`);
  });
  const listening = async () => {
    for await (const line of createInterface(child.stdout)) {
      const port = /(?:^|:)(\d+)$/.exec(line)?.[1];
      if (port) return port;
    }
    return ended;
  };
  const port = await Promise.race([listening(), ended]);
  ended.catch(() => {});
  return {
    origin: `http://127.0.0.1:${port}`,
    printed: output,
    close() {
      // A process that a signal ended has no exit code. Its group id may be unused or belong to another process.
      const isRunning = child.exitCode === null && child.signalCode === null;
      if (child.pid && isRunning) endGroup(child.pid);
      return exited;
    },
  };
}
