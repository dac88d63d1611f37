import { once } from "node:events";
import { startModule } from "./programs.js";
import { NotStartedError } from "./setup-errors.js";

/** Source code of listeners for `node:http`, with a `receiver` and a `middleware` in scope. */
const listeners: Readonly<Record<string, string>> = {
  "node:http": `
    const { webhooks } = await import("@svc-webhooks/node");
    const handler = webhooks(receiver);
    const listener = (request, response) =>
      middleware(request, response, () => void handler(request, response));`,
  "Express 4": expressApp("express4"),
  "Express 5": expressApp("express"),
  "Hono on Node": `
    const { webhooks } = await import("@svc-webhooks/hono");
    const { getRequestListener } = await import("@hono/node-server");
    const { Hono } = await import("hono");
    const listener = getRequestListener(new Hono().all("*", webhooks(receiver)).fetch);`,
};

function expressApp(express: string): string {
  return `
    const { webhooks } = await import("@svc-webhooks/express");
    const { default: express } = await import("${express}");
    const listener = express().use(middleware, webhooks(receiver));`;
}

export const serverKinds = Object.keys(listeners);

export interface ServerProcess {
  readonly port: number;
  /** Resolves with the next value that the middleware passes to `process.send`. */
  readonly message: () => Promise<unknown>;
  /** Returns the peak resident memory of the process since the last call, in MiB. */
  readonly peak: () => Promise<number>;
}

/**
 * Starts a receiver that processes every event, in its own process, until the test ends. `middleware` is source
 * code for Express and `node:http`.
 */
export async function serverProcess(
  kind: string,
  middleware = "(_request, _response, next) => next()",
): Promise<ServerProcess> {
  const program = `
    import { createServer } from "node:http";
    import { createReceiver } from "@svc-webhooks/core";
    const receiver = createReceiver({ secret: "whsec_test", bodyTimeoutMs: 60_000, log: () => {}, on: { "*": () => {} } });
    const middleware = ${middleware};
    ${String(listeners[kind])}
    const server = createServer(listener);
    server.listen(0, "127.0.0.1", () => process.send(server.address().port));
    let peak = 0;
    const sample = () => (peak = Math.max(peak, process.memoryUsage.rss()));
    setInterval(sample, 5);
    process.on("message", () => {
      sample();
      process.send(peak / 2 ** 20);
      peak = 0;
    });
  `;
  const child = startModule(program);
  child.stdout.pipe(process.stdout);
  let isListening = false;
  const ended = once(child, "exit").then(([code]) => {
    const Exited = isListening ? Error : NotStartedError;
    throw new Exited(`The server exited with ${String(code)}.`);
  });
  ended.catch(() => {});
  const message = async () => {
    const [value] = await Promise.race([once(child, "message") as Promise<[number]>, ended]);
    return value;
  };
  const port = await message();
  isListening = true;
  return {
    port,
    message,
    peak() {
      child.send("peak");
      return message();
    },
  };
}
