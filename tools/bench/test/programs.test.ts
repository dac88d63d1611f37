import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { gzippedBytes } from "../src/bundle.js";
import { startChild } from "../src/child.js";
import { bothCores } from "../src/inbox/without-branch.js";
import { atCapacity, belowCapacity, keyOf } from "../src/growth/memory-stores.js";

// Processes run the built files.
const built = (file: string) => fileURLToPath(new URL(`../dist/${file}`, import.meta.url));

test("a contender's server ends with its parent", async () => {
  const child = fork(built("http/server.js"), ["node:http", "hand-written"]);
  onTestFinished(() => void child.kill());
  const [port] = await once(child, "message");
  expect((await fetch(`http://127.0.0.1:${port}/webhooks`)).status).toBe(405);
  const exit = once(child, "exit");
  child.disconnect();
  expect(await exit).toEqual([0, null]);
});

test("a process that ends rejects the reply, by its name", async () => {
  // The folder of the sources contains no JavaScript.
  const child = startChild("http/server.js", ["a", "b"], { stdio: "ignore" });
  await expect(child.reply()).rejects.toThrow("http/server.js a b ended with 1.");
});

test.each([
  ["below its capacity", belowCapacity, false],
  ["at its capacity", atCapacity, true],
])("a memory store %s keeps its size", async (_title, make, evictedEarly) => {
  const { store, deliver } = make(100);
  deliver(1_000);
  const claim = (delivery: number) => store.claim(keyOf(delivery), claimBy("a"), call);
  // 110 deliveries at the start and 1,000 here leave the last 100 in the store.
  expect(await claim(1_011)).toMatchObject({ status: "done" });
  expect(await claim(1_010)).toMatchObject({ status: "claimed", evictedEarly });
});

test("the branch for queues can be left out of the built core", async () => {
  const folder = await mkdtemp(`${tmpdir()}/bench-`);
  onTestFinished(() => rm(folder, { recursive: true }));
  const cores = await bothCores(folder);
  expect(cores.without).not.toBe(cores.with);
});

test("a bundle has what it imports, and modules of Node only on Node", async () => {
  const crypto = `export * from "node:crypto"`;
  const missing = `export * from "no-such-package"`;
  expect(await gzippedBytes(crypto, "node")).toBeGreaterThan(0);
  await expect(gzippedBytes(crypto, "worker")).rejects.toThrow("node:crypto");
  await expect(gzippedBytes(missing, "node")).rejects.toThrow("no-such-package");
});
