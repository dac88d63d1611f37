import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "./free-port.js";

/** Makes the next random choice this port. */
function choose(port: number) {
  const random = vi.spyOn(Math, "random").mockReturnValueOnce((port - 12_000 + 0.5) / 10_000);
  onTestFinished(() => random.mockRestore());
}

/** Replaces the folder that the processes of a test run share, until the test ends. */
function sharing(folder: string | undefined) {
  vi.stubEnv("SVC_WEBHOOKS_PORTS_FOLDER", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
}

test("a port that nothing uses yet is returned only once", async () => {
  const port = await freePort();
  choose(port);
  expect(await freePort()).not.toBe(port);
});

test("a port that another process of the run has reserved is not returned", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-ports-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // The port is free, and this process has not chosen it before.
  const reserved = await freePort();
  sharing(folder);
  writeFileSync(join(folder, String(reserved)), "");
  choose(reserved);
  const port = await freePort();
  expect(port).not.toBe(reserved);
  expect(existsSync(join(folder, String(port)))).toBe(true);
});

test("outside of a test run, a port is returned only once in a process", async () => {
  sharing(undefined);
  const port = await freePort();
  choose(port);
  expect(await freePort()).not.toBe(port);
});
