import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

const folder = import.meta.dirname;

type Environment = Readonly<Record<"SVC_WEBHOOK_SECRET" | "HANDLER_URL", string>>;

/** Starts a receiver in Python until the test ends. Resolves with its URL. */
export async function servePython(file: string, env: Environment): Promise<string> {
  const child = spawn("python3", ["-B", join(folder, file)], {
    env: { ...process.env, ...env },
    // The receiver ends when its stdin does.
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = (await once(createInterface(child.stdout), "line")) as [string];
  return `http://127.0.0.1:${port}/webhooks`;
}

/** Runs a shell script for each connection until the test ends, as `inetd` would. Resolves with its URL. */
export async function serveShell(file: string, env: Environment): Promise<string> {
  const state = mkdtempSync(join(tmpdir(), "svc-webhooks-shell-"));
  const children = new Set<ChildProcess>();
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    const child = spawn("bash", [join(folder, file)], {
      env: { ...process.env, ...env, STATE: state },
      stdio: [socket, socket, "inherit"],
    });
    children.add(child);
    child.once("exit", () => {
      children.delete(child);
      socket.destroy();
    });
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    // A child leaves the set when it has exited.
    const exits = [...children].map((child) => once(child, "exit"));
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(exits);
    rmSync(state, { recursive: true, force: true });
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}
