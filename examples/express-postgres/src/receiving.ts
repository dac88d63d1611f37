import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { atEnd } from "./closing.js";
import type { Message, Point } from "./part.js";

const serverPath = fileURLToPath(new URL("server.js", import.meta.url));

/** A running server process. */
export interface ServerProcess {
  readonly name: string;
  readonly url: string;
  /** Kills the process (SIGKILL) when a handler reaches this point. Until then, handlers run to the end. */
  killAt(point: Point): void;
  end(signal: NodeJS.Signals): Promise<void>;
}

export async function startServer(name: string, env: NodeJS.ProcessEnv): Promise<ServerProcess> {
  const child = fork(serverPath, { env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  atEnd(() => end("SIGKILL"));
  let deadly: Point | undefined;
  const port = await new Promise<number>((resolve, reject) => {
    child.on("message", (message: Message) => {
      if ("port" in message) resolve(message.port);
      else if (message.point === deadly) child.kill("SIGKILL");
      else child.send("continue", () => {});
    });
    child.once("exit", () => reject(new Error(`Server ${name} exited before it was listening.`)));
  });
  return { name, url: `http://127.0.0.1:${port}`, killAt: (point) => (deadly = point), end };
}
