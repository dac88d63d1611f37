import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { atEnd } from "./closing.js";
import type { Line } from "./part.js";

const server = fileURLToPath(new URL("server.js", import.meta.url));

/** A process that receives. */
export interface Receiving {
  readonly name: string;
  readonly url: string;
  readonly pid: number | undefined;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** A handler that has begun. */
export interface Run {
  readonly on: string;
  readonly emailId: string;
  readonly run: number;
  /** Lets it end. */
  finish(): void;
}

export async function startReceiving(
  name: string,
  env: NodeJS.ProcessEnv,
  begun: (run: Run) => void,
): Promise<Receiving> {
  const child = fork(server, { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  atEnd(() => end("SIGKILL"));
  const port = await new Promise<number>((resolve, reject) => {
    child.on("message", (line: Line) => {
      if ("port" in line) resolve(line.port);
      else begun({ on: name, ...line, finish: () => void child.send("finish", () => {}) });
    });
    child.once("exit", () => reject(new Error(`Process ${name} has ended before it listened`)));
  });
  return { name, url: `http://127.0.0.1:${port}/webhooks`, pid: child.pid, end };
}
