import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { oncePerRun } from "./once-per-run.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-webhooks-once-"));
  vi.stubEnv("SVC_WEBHOOKS_RUN_FOLDER", folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
});

let made = 0;
const make = async (path: string) => writeFileSync(path, `${(made += 1)}`);
const read = async () => readFileSync(await oncePerRun("thing", make), "utf8");

test("the first of concurrent callers makes it, and the others await it", async () => {
  const [one, ...others] = await Promise.all([read(), read(), read()]);
  expect(others).toEqual([one, one]);
  expect(await read()).toBe(one);
});

test("the next caller makes it if the first one fails", async () => {
  const failing = oncePerRun("thing", () => Promise.reject(new Error("The disk is full.")));
  const next = read();
  await expect(failing).rejects.toThrow("The disk is full.");
  expect(await next).toBe(String(made));
});

test("a process that was killed while it made it blocks nobody", async () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  writeFileSync(join(folder, "thing.lock"), String(pid));
  expect(await read()).toBe(String(made));
});
