import { fork, type ForkOptions } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface Child {
  /** Sends `message`, if any, and resolves to the process's next message. Rejects if the process exits first. */
  readonly reply: (message?: string) => Promise<unknown>;
  readonly stop: () => void;
}

/** Runs a compiled file of this package, whose path is relative to this file, in a separate process. */
export function startChild(file: string, args: string[], options: ForkOptions = {}): Child {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, options);
  const ended = once(child, "exit").then(([code, signal]): never => {
    throw new Error(`${file} ${args.join(" ")} ended with ${String(code ?? signal)}.`);
  });
  // Prevents an unhandled rejection, because an early exit matters only while a message is awaited.
  ended.catch(() => {});
  return {
    reply(message) {
      const next = once(child, "message").then(([value]: unknown[]) => value);
      if (message !== undefined) child.send(message);
      return Promise.race([next, ended]);
    },
    stop: () => child.kill(),
  };
}
