import { closeAll } from "./closing.js";
import { openPlace } from "./place.js";
import { mute, print, styled } from "./print.js";
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

try {
  const passed = await runStory(await openPlace());
  if (!passed) process.exitCode = 1;
} catch (error) {
  print(styled("red", (error as Error).message));
  process.exitCode = 1;
}
await closeAll();
