import { fileURLToPath } from "node:url";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { npmStart } from "@svc-webhooks/kit/npm";
import { startStory } from "@svc-webhooks/kit/story";
import { expect, test } from "vitest";
import { textOf } from "../../../test/package/readme.js";

const demo = fileURLToPath(new URL("../demo.mjs", import.meta.url));

describeWithRedis("the demo", () => {
  test.concurrent("prints what its page shows, and removes its Redis", async (context) => {
    const command = [...npmStart, "start", "--silent", "-w", "examples/inbox-redis"] as const;
    const { exitCode, stdout, leftBehind } = await startStory(context, command, {}).ended();
    const [, shown] =
      /^```\n(The server stores[^]*?)^```$/m.exec(textOf("examples/inbox-redis/README.md")) ?? [];
    expect(stdout).toBe(shown);
    expect({ exitCode, leftBehind }).toEqual({ exitCode: 0, leftBehind: [] });
  });

  test.concurrent.for(["interrupt", "terminate"] as const)(
    "ends its processes and its Redis on %s",
    async (end, context) => {
      const story = startStory(context, [process.execPath, demo], {});
      await story.printed("Worker A is killed");
      story[end]();
      expect(await story.ended()).toMatchObject({ exitCode: 1, leftBehind: [] });
    },
  );
});

test("without redis-server the demo prints how to get it, and exits with 1", async (context) => {
  const { ended } = startStory(context, [process.execPath, demo], { PATH: "" });
  expect(await ended()).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: expect.stringContaining("redis-server 6.2 or newer"),
    leftBehind: [],
  });
});
