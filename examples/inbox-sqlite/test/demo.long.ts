import { fileURLToPath } from "node:url";
import { npmStart } from "@svc-webhooks/kit/npm";
import { startStory } from "@svc-webhooks/kit/story";
import { expect, test } from "vitest";
import { textOf } from "../../../test/package/readme.js";

const demo = fileURLToPath(new URL("../demo.mjs", import.meta.url));

test.concurrent("the demo prints what its page shows, and removes its file", async (context) => {
  const command = [...npmStart, "start", "--silent", "-w", "examples/inbox-sqlite"] as const;
  const { exitCode, stdout, leftBehind } = await startStory(context, command, {}).ended();
  const [, shown] =
    /^```\n(Server A stores[^]*?)^```$/m.exec(textOf("examples/inbox-sqlite/README.md")) ?? [];
  expect(stdout).toBe(shown);
  expect({ exitCode, leftBehind }).toEqual({ exitCode: 0, leftBehind: [] });
});

test.concurrent.for(["interrupt", "terminate"] as const)(
  "the demo ends its processes and removes its file on %s",
  async (end, context) => {
    const story = startStory(context, [process.execPath, demo], {});
    await story.printed("Server B opens the file");
    story[end]();
    expect(await story.ended()).toMatchObject({ exitCode: 1, leftBehind: [] });
  },
);
