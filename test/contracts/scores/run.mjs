// Starts a receiver of this folder, runs `svc-webhooks conformance` on it, and ends it: `node run.mjs NAME [--json]`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const folder = import.meta.dirname;
const [name = "", ...flags] = process.argv.slice(2);

/** The receivers. `{port}` stands for the port on which one must listen. */
const receivers = {
  octokit: { scheme: "github", command: ["node", "octokit.mjs"] },
  tern: { scheme: "github", command: ["node", "tern.mjs"] },
  stripe: { scheme: "stripe", command: ["node", "stripe.mjs"] },
  standardwebhooks: {
    scheme: "standard-webhooks",
    secret: "whsec_YSBzaWduaW5nIGtleSBvZiAzMiBieXRlcyBvciBzby4=",
    command: ["node", "standardwebhooks.mjs"],
  },
  webhook: {
    path: "/hooks/svc",
    command: [
      "webhook",
      "-hooks",
      "webhook.json",
      "-template",
      "-ip",
      "127.0.0.1",
      "-port",
      "{port}",
    ],
  },
  flask: { command: ["/usr/bin/python3", "flask_tutorial.py"] },
  php: { command: ["php", "-S", "127.0.0.1:{port}", "tutorial.php"] },
  sinatra: { command: ["ruby", "sinatra_tutorial.rb"] },
};

const receiver = receivers[name];
if (!receiver) {
  console.error(`Name one of ${Object.keys(receivers).join(", ")}.`);
  process.exit(2);
}

/** Returns ports that nothing uses. They differ, because all are taken before the first is released. */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => String(server.address().port));
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

const isListening = (port) =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

const { scheme, secret = "whsec_test", path = "/webhooks", command } = receiver;
const [port, handlerPort] = await freePorts(2);
const env = {
  ...process.env,
  PORT: port,
  WEBHOOK_SECRET: secret,
  HANDLER_URL: `http://127.0.0.1:${handlerPort}/`,
  PHP_CLI_SERVER_WORKERS: "8",
};
const [program, ...args] = command.map((one) => one.replace("{port}", port));
const child = spawn(program, args, { cwd: folder, env, stdio: "ignore", detached: true });
const end = () => {
  try {
    process.kill(-Number(child.pid), "SIGKILL");
  } catch {
    // It has ended already.
  }
};
process.on("exit", end);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
child.once("error", (error) => {
  console.error(error.message);
  process.exit(1);
});
child.once("exit", () => {
  console.error("The receiver has ended.");
  process.exit(1);
});
const startMs = 30_000;
const deadline = Date.now() + startMs;
while (!(await isListening(port))) {
  if (Date.now() > deadline) {
    console.error(`The receiver has not started within ${startMs / 1_000} seconds.`);
    process.exit(1);
  }
  await pause(50);
}

const main = join(folder, "../../../tools/cli/bin/svc-webhooks.js");
const conformance = spawn(
  process.execPath,
  [
    main,
    "conformance",
    `http://127.0.0.1:${port}${path}`,
    "--secret-env=WEBHOOK_SECRET",
    `--handler-port=${handlerPort}`,
    ...(scheme ? [`--scheme=${scheme}`] : []),
    ...flags,
  ],
  { env, stdio: "inherit" },
);
const [code] = await once(conformance, "exit");
process.exit(code ?? 1);
