import { expect, test } from "vitest";
import { spawned } from "./launch.js";

test("a closed server can be closed again", async () => {
  const { close } = await spawned(
    process.execPath,
    "--eval",
    "console.log(1); setInterval(() => {}, 60_000)",
  );
  expect(await close()).toEqual([null, "SIGKILL"]);
  expect(await close()).toEqual([null, "SIGKILL"]);
});
