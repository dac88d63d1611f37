import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { expect, test, type TestContext } from "vitest";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { npmStart } from "@svc-webhooks/kit/npm";
import { startStory } from "@svc-webhooks/kit/story";

const story = fileURLToPath(new URL("../dist/start.js", import.meta.url));
const direct = [process.execPath, story] as const;
const readmeCommand = [...npmStart, "start", "-w", "examples/express-redis"] as const;

const start = (
  context: TestContext,
  command: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
) => startStory(context, command, { REDIS_URL: "", ...env });

describeWithRedis("the demo", () => {
  test.concurrent(
    "prints the README's steps when started with the README's command",
    async (context) => {
      const { exitCode, stdout, leftBehind } = await start(context, readmeCommand).ended();
      // Both processes report at the same time, so the order of these two varies.
      expect(stdout).toMatch(/[AB] runs the handler for msg_1, run 1$/m);
      expect(stdout).toMatch(/✓ msg_1 to [AB] +in_flight +503 +Retry-After: 5$/m);
      const facts = [
        /✓ msg_1 to [AB] +processed +200$/m,
        /the sender waits 5 s$/m,
        /✓ msg_1 to [AB] +duplicate +200$/m,
        /A runs the handler for msg_2, run 1$/m,
        /✓ msg_2 to A +no response$/m,
        /✓ msg_2 to B +in_flight +503 +Retry-After: 5$/m,
        /B runs the handler for msg_2, run 2$/m,
        /✓ msg_2 to B +processed +200$/m,
        /msg_1 +3 requests +run 1 on [AB] finished$/m,
        /msg_2 +\d requests +run 1 on A was killed, run 2 on B finished$/m,
        /^2 deliveries, \d requests, 3 handler runs\.$/m,
        /^Every step ended as expected\.$/m,
      ];
      // Each is searched for after the previous match, so their order is checked too.
      let rest = stdout;
      for (const fact of facts) {
        expect(rest).toMatch(fact);
        rest = rest.slice((fact.exec(rest)?.index ?? 0) + 1);
      }
      expect(stdout).not.toContain("\u001b");
      expect({ exitCode, leftBehind }).toEqual({ exitCode: 0, leftBehind: [] });
    },
  );

  test.concurrent.for([
    ["and its Redis on Ctrl+C", "interrupt", 130],
    ["on SIGTERM", "terminate", 143],
  ] as const)("stops its processes %s and removes their folder", async ([, end, code], context) => {
    const demo = start(context, direct);
    await demo.printed("the sender waits");
    demo[end]();
    expect(await demo.ended()).toMatchObject({ exitCode: code, stderr: "", leftBehind: [] });
  });

  test.concurrent("deletes only its own keys from an existing Redis", async (context) => {
    const server = await redisServer();
    context.onTestFinished(server.close);
    const REDIS_URL = `redis://127.0.0.1:${server.port}`;
    const redis = new Redis(REDIS_URL);
    context.onTestFinished(() => redis.disconnect());
    await redis.set("other:key", "value");

    const { interrupt, printed, ended } = start(context, direct, { REDIS_URL });
    await printed("the sender waits");
    expect(await redis.dbsize()).toBe(2);
    interrupt();
    expect(await ended()).toMatchObject({ exitCode: 130, stderr: "" });
    expect(await redis.keys("*")).toEqual(["other:key"]);
  });
});

test.concurrent.for([
  [
    "without redis-server",
    "prints how to get Redis",
    { PATH: "" },
    /redis-server is not installed[^]*REDIS_URL=redis:\/\/localhost:6379 npm start/,
  ],
  // Port 1 is reserved (tcpmux, RFC 1078); nothing listens there.
  [
    "with an unreachable REDIS_URL",
    "reports it",
    { REDIS_URL: "redis://127.0.0.1:1" },
    /^Cannot connect to the Redis at REDIS_URL: connect ECONNREFUSED 127\.0\.0\.1:1\n$/,
  ],
] as const)("%s the demo %s, and exits with 1", async ([, , env, stdout], context) => {
  expect(await start(context, direct, env).ended()).toEqual({
    exitCode: 1,
    stdout: expect.stringMatching(stdout),
    stderr: "",
    leftBehind: [],
  });
});
