import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { GroupId } from "./groups.js";
import type { Order } from "./handler.js";

/** A contender's server, wherever it runs. */
export interface Server {
  readonly port: number;
  /** Gives an order to its handler; answers how many runs there were so far. */
  readonly order: (order: Order) => Promise<number>;
}

export interface ServerProcess extends Server {
  /** Rejects with what it has printed when it ends. */
  readonly ended: Promise<never>;
  readonly stop: () => void;
}

/** Starts a contender's server in a process of its own, as it would run in production. */
export async function startServer(group: GroupId, contender: string): Promise<ServerProcess> {
  const child = fork(fileURLToPath(new URL("server.js", import.meta.url)), [group, contender], {
    execArgv: [],
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let printed = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    printed = `${printed}${text}`.slice(-2_000);
  });
  const ended = once(child, "exit").then(([code, signal]): never => {
    throw new Error(`the server of ${contender} ended with ${String(code ?? signal)}\n${printed}`);
  });
  // It matters only where something is awaited.
  ended.catch(() => {});
  const message = async () => {
    const [number] = await Promise.race([once(child, "message"), ended]);
    return Number(number);
  };
  return {
    port: await message(),
    order(order) {
      // Whether it gets there shows in the answer.
      child.send(order, () => {});
      return message();
    },
    ended,
    stop: () => child.kill(),
  };
}
