import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { expect, test, type TestContext } from "vitest";
import { root } from "../../../test/support/package-tools.js";
import { describeWithRedis, redisServer } from "../../../test/support/redis-server.js";

const story = fileURLToPath(new URL("../dist/start.js", import.meta.url));
const itself = [process.execPath, story] as const;
const asInReadme = ["npm", "start", "-w", "examples/express-redis"] as const;

/** Begins the story in a process group of its own, as a terminal does. */
function begin(
  { onTestFinished }: TestContext,
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "story-"));
  const child = spawn(program, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, REDIS_URL: "", TMPDIR: folder, ...env },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} does not start`);
  const signalAll = (signal: NodeJS.Signals) => process.kill(-pid, signal);
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const lines = createInterface(child.stdout);
  // Not before everybody who has inherited its output is gone as well.
  const closed = once(child, "close") as Promise<[number | null]>;
  onTestFinished(() => {
    if ((child.exitCode ?? child.signalCode) === null) signalAll("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  return {
    /** What Ctrl+C does: all of the group get the signal. */
    interrupt: () => signalAll("SIGINT"),
    /** Only itself. */
    terminate: () => child.kill(),
    printed: async (text: string) => {
      while (!output.stdout.includes(text)) await once(lines, "line");
    },
    ended: async () => {
      const [exitCode] = await closed;
      return { exitCode, ...output, leftBehind: readdirSync(folder) };
    },
  };
}

describeWithRedis("the story", () => {
  test.concurrent("goes as told when it is started as the README says", async (context) => {
    const { exitCode, stdout, leftBehind } = await begin(context, asInReadme).ended();
    // Two processes tell of these at the same time.
    expect(stdout).toMatch(/[AB] runs the handler for msg_1, run 1$/m);
    expect(stdout).toMatch(/✓ msg_1 to [AB] +in_flight +503 +Retry-After: 5$/m);
    const facts = [
      /✓ msg_1 to [AB] +processed +200$/m,
      /the sender waits 5 s$/m,
      /✓ msg_1 to [AB] +duplicate +200$/m,
      /A runs the handler for msg_2, run 1$/m,
      /✓ msg_2 to A +no answer$/m,
      /✓ msg_2 to B +in_flight +503 +Retry-After: 5$/m,
      /B runs the handler for msg_2, run 2$/m,
      /✓ msg_2 to B +processed +200$/m,
      /msg_1 +3 requests +run 1 on [AB] was done$/m,
      /msg_2 +\d requests +run 1 on A was killed, run 2 on B was done$/m,
      /^2 deliveries, \d requests, 3 handler runs\.$/m,
      /^All went as it should\.$/m,
    ];
    // In this order, each once it is looked for behind the one before.
    let rest = stdout;
    for (const fact of facts) {
      expect(rest).toMatch(fact);
      rest = rest.slice((fact.exec(rest)?.index ?? 0) + 1);
    }
    expect(stdout).not.toContain("\u001b");
    expect({ exitCode, leftBehind }).toEqual({ exitCode: 0, leftBehind: [] });
  });

  test.concurrent(
    "ends at Ctrl+C, and its processes, its Redis and their folder with it",
    async (context) => {
      const { interrupt, printed, ended } = begin(context, itself);
      await printed("the sender waits");
      interrupt();
      expect(await ended()).toMatchObject({ exitCode: 130, stderr: "", leftBehind: [] });
    },
  );

  test.concurrent("ends on SIGTERM, and ends the others itself", async (context) => {
    const { terminate, printed, ended } = begin(context, itself);
    await printed("the sender waits");
    terminate();
    expect(await ended()).toMatchObject({ exitCode: 143, stderr: "", leftBehind: [] });
  });

  test.concurrent("leaves nothing in a Redis that it was given", async (context) => {
    const server = await redisServer();
    context.onTestFinished(server.close);
    const REDIS_URL = `redis://127.0.0.1:${server.port}`;
    const redis = new Redis(REDIS_URL);
    context.onTestFinished(() => redis.disconnect());
    await redis.set("somebody's", "own");

    const { interrupt, printed, ended } = begin(context, itself, { REDIS_URL });
    await printed("the sender waits");
    expect(await redis.dbsize()).toBe(2);
    interrupt();
    expect(await ended()).toMatchObject({ exitCode: 130, stderr: "" });
    expect(await redis.keys("*")).toEqual(["somebody's"]);
  });
});

test.concurrent(
  "without a redis-server it tells how to get one, and exits with 1",
  async (context) => {
    const { exitCode, stdout, stderr, leftBehind } = await begin(context, itself, {
      PATH: "",
    }).ended();
    expect(stdout).toContain("redis-server is not installed");
    expect(stdout).toContain("REDIS_URL=redis://localhost:6379 npm start");
    expect({ exitCode, stderr, leftBehind }).toEqual({ exitCode: 1, stderr: "", leftBehind: [] });
  },
);

test.concurrent(
  "with a REDIS_URL where nobody listens it says so, and exits with 1",
  async (context) => {
    // Port 1 is reserved (RFC 1078's tcpmux), and served by nobody.
    const { ended } = begin(context, itself, { REDIS_URL: "redis://127.0.0.1:1" });
    const stdout = "No connection to the Redis of REDIS_URL: connect ECONNREFUSED 127.0.0.1:1\n";
    expect(await ended()).toMatchObject({ exitCode: 1, stdout, stderr: "" });
  },
);
