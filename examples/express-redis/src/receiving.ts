import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { atEnd } from "./closing.js";
import type { Message } from "./part.js";

const serverPath = fileURLToPath(new URL("server.js", import.meta.url));

/** A running server process. */
export interface ServerProcess {
  readonly name: string;
  readonly url: string;
  readonly pid: number | undefined;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** A handler run that has started. */
export interface Run {
  /** The name of the run's process. */
  readonly on: string;
  readonly emailId: string;
  readonly run: number;
  /** Lets the handler return. */
  finish(): void;
}

export async function startServer(
  name: string,
  env: NodeJS.ProcessEnv,
  onRun: (run: Run) => void,
): Promise<ServerProcess> {
  const child = fork(serverPath, { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  atEnd(() => end("SIGKILL"));
  const port = await new Promise<number>((resolve, reject) => {
    child.on("message", (message: Message) => {
      if ("port" in message) resolve(message.port);
      else onRun({ on: name, ...message, finish: () => void child.send("finish", () => {}) });
    });
    child.once("exit", () => reject(new Error(`Server ${name} exited before it was listening.`)));
  });
  return { name, url: `http://127.0.0.1:${port}/webhooks`, pid: child.pid, end };
}
