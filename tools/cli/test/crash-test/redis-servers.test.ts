import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, vi } from "vitest";
import { redisServers } from "../../src/crash-test/databases/redis.js";
import { markVariable } from "../../src/crash-test/ending.js";
import { startWatcher } from "../../src/crash-test/watcher.js";
import { processesWith } from "../../src/dev/processes.js";

const through = {
  name: "REDIS_URL",
  url: new URL("redis://127.0.0.1:6379"),
  kind: "redis",
} as const;

/** Puts a program into the path in place of `redis-server`. Its folder becomes that of temporary files. */
async function withProgram(text: string, signal = new AbortController().signal) {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
  const program = join(folder, "redis-server");
  writeFileSync(program, `#!/bin/sh\n[ "$1" = --version ] && exit 0\n${text}\n`);
  chmodSync(program, 0o755);
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  vi.stubEnv("TMPDIR", folder);
  const watcher = await startWatcher();
  onTestFinished(async () => {
    await watcher.close();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
  const servers = await redisServers(through, watcher, signal);
  const left = () => [readdirSync(folder), processesWith(markVariable, watcher.mark)];
  return { servers, left };
}

testPosix("a redis-server that ends before it listens is reported with the fix", async () => {
  const { servers, left } = await withProgram("exit 3");
  await expect(servers.open()).rejects.toMatchObject({
    code: "redis_ended",
    exitCode: 3,
    message: expect.stringMatching(/^redis-server ended with exit code 3 before it listened\.$/),
    hint: expect.stringMatching(/^Run redis-server on its own .* REDIS_URL/),
  });
  expect(left()).toEqual([["redis-server"], []]);
});

testPosix("a redis-server that never listens ends when the command does", async () => {
  const controller = new AbortController();
  const { servers, left } = await withProgram("exec sleep 1000", controller.signal);
  const opened = servers.open();
  controller.abort(new Error("interrupted"));
  await expect(opened).rejects.toThrow("interrupted");
  expect(left()).toEqual([["redis-server"], []]);
});
