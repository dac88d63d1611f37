import { randomUUID } from "node:crypto";
import { closeAll } from "./closing.js";
import { beSilent, print, styled } from "./print.js";
import { openRedis } from "./redis.js";
import { tellStory } from "./story.js";

for (const [signal, exitCode] of [
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.on(signal, async () => {
    beSilent();
    await closeAll();
    process.exit(exitCode);
  });
}

// Of this story alone, whoever else uses the Redis.
const prefix = `svc-webhooks-example:${randomUUID()}:`;

try {
  const isAsTold = await tellStory(await openRedis(prefix), prefix);
  if (!isAsTold) process.exitCode = 1;
} catch (error) {
  print(styled("red", (error as Error).message));
  process.exitCode = 1;
}
await closeAll();
