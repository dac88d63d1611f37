import { randomUUID } from "node:crypto";
import { closeAll } from "./closing.js";
import { mute, print, styled } from "./print.js";
import { openRedis } from "./redis.js";
import { runStory } from "./story.js";

for (const [signal, exitCode] of [
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.on(signal, async () => {
    mute();
    await closeAll();
    process.exit(exitCode);
  });
}

// The prefix is unique to this run, so that other users of the Redis keep their records.
const prefix = `svc-webhooks-example:${randomUUID()}:`;

try {
  const passed = await runStory(await openRedis(prefix), prefix);
  if (!passed) process.exitCode = 1;
} catch (error) {
  print(styled("red", (error as Error).message));
  process.exitCode = 1;
}
await closeAll();
