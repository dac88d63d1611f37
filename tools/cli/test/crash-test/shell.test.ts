import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import { markVariable } from "../../src/crash-test/ending.js";
import { runShell } from "../../src/crash-test/shell.js";
import { startWatcher } from "../../src/crash-test/watcher.js";

/** Runs a command, whose processes end with the test. */
async function run(command: string, signal = new AbortController().signal): Promise<string> {
  const watcher = await startWatcher();
  onTestFinished(watcher.close);
  const env = { ...process.env, [markVariable]: watcher.mark };
  return runShell("--effects", command, env, signal, watcher);
}

testPosix("a command that leaves a process with its output open ends when it exits", async () => {
  expect(await run("setsid sleep 1000 & echo one; echo two")).toBe("one\ntwo\n");
});

testPosix(
  "a command that fails and leaves such a process is reported with its output",
  async () => {
    await expect(run("setsid sleep 1000 & echo no table >&2; exit 4")).rejects.toMatchObject({
      code: "command_failed",
      message: "The command in --effects ended with exit code 4.",
      hint: expect.stringContaining("no table"),
    });
  },
);

test("the whole of a long output is read", async () => {
  expect(await run("seq 1 200000")).toHaveLength(1_288_895);
});

testPosix(
  "a command ends when the test does, although a process in another session is left",
  async () => {
    const controller = new AbortController();
    const result = run("setsid sleep 1000 & sleep 1000", controller.signal);
    setTimeout(() => controller.abort(new Error("time is over")), 100);
    await expect(result).rejects.toThrow("time is over");
  },
);
