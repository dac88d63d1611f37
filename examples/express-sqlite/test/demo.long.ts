import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { npmStart } from "@svc-webhooks/kit/npm";
import { sized } from "@svc-webhooks/kit/sized";
import { startStory } from "@svc-webhooks/kit/story";
import { expect, test } from "vitest";
import { textOf } from "../../../test/package/readme.js";

const demo = fileURLToPath(new URL("../demo.mjs", import.meta.url));

test("the demo prints what its page shows, and removes its file", async (context) => {
  const command = [...npmStart, "start", "--silent", "-w", "examples/express-sqlite"] as const;
  const { exitCode, stdout, leftBehind } = await startStory(context, command, {}).ended();
  const [, shown] =
    /^```\n(300 events[^]*?)^```$/m.exec(textOf("examples/express-sqlite/README.md")) ?? [];
  expect(stdout).toBe(shown);
  expect({ exitCode, leftBehind }).toEqual({ exitCode: 0, leftBehind: [] });
});

// They go from the start of the process to the time when server B waits for a lease. Every moment must end the same.
const moments = Array.from({ length: sized(4, 12) }, (_, index) => index * sized(750, 250));

const casesOf = (ends: readonly ("interrupt" | "terminate" | "kill")[]) =>
  moments.flatMap((afterMs) => ends.map((end) => [end, afterMs] as const));

test.for(casesOf(["interrupt", "terminate"]))(
  "the demo ends its processes and removes its file on %s after %i ms",
  async ([end, afterMs], context) => {
    const story = startStory(context, [process.execPath, demo], {});
    await pause(afterMs);
    story[end]();
    const { exitCode, leftBehind } = await story.ended();
    // Null: the signal came before the demo had loaded its modules.
    expect([null, 1]).toContain(exitCode);
    expect(leftBehind).toEqual([]);
  },
);

test.for(casesOf(["kill"]))(
  "no process outlives a demo on %s after %i ms",
  async ([end, afterMs], context) => {
    const story = startStory(context, [process.execPath, demo], {});
    await pause(afterMs);
    story[end]();
    // Resolves when every process has exited.
    expect((await story.ended()).exitCode).toBe(null);
  },
);
