import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.js";
import { describeRequiring } from "./requiring.js";
import { until } from "./until.js";

/** Debian's script refuses to run as another user than `rabbitmq`, so the program behind it is started. */
const folder = "/usr/lib/rabbitmq/bin";

const isInstalled = spawnSync("ls", [`${folder}/rabbitmq-server`]).status === 0;

/** `describe` for tests that need a `rabbitmq-server`. */
export const describeWithRabbitmq: ReturnType<typeof describeRequiring> = describeRequiring(
  "rabbitmq-server",
  isInstalled,
);

export interface RabbitmqServer {
  readonly url: string;
  /** Ends the server with SIGKILL, and starts it again with the data on its disk. */
  readonly crash: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts a real server with a folder of its own. */
export async function rabbitmqServer(): Promise<RabbitmqServer> {
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-rabbitmq-"));
  const port = await freePort();
  writeFileSync(join(directory, "enabled_plugins"), "[].");
  writeFileSync(join(directory, "rabbitmq.conf"), "log.console = false\n");
  const env = {
    ...process.env,
    HOME: directory,
    RABBITMQ_NODENAME: `test${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(await freePort()),
    RABBITMQ_MNESIA_BASE: directory,
    RABBITMQ_LOG_BASE: directory,
    RABBITMQ_CONFIG_FILE: join(directory, "rabbitmq.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, "enabled_plugins"),
    ERL_EPMD_PORT: String(await freePort()),
  };
  let server: ChildProcess;
  const start = async () => {
    server = spawn(`${folder}/rabbitmq-server`, { env, stdio: "ignore", detached: true });
    const isReady = () =>
      spawnSync(`${folder}/rabbitmqctl`, ["await_startup"], { env, stdio: "ignore" }).status === 0;
    await until(isReady, "RabbitMQ has started");
  };
  const kill = async () => {
    const exited = once(server, "exit");
    process.kill(-Number(server.pid), "SIGKILL");
    await exited;
  };
  await start();
  return {
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    async crash() {
      await kill();
      await start();
    },
    async close() {
      await kill();
      // Erlang's port mapper stays, in a session of its own.
      spawnSync("epmd", ["-kill"], { env, stdio: "ignore" });
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
