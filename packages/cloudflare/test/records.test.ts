import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cloud } from "./support.js";

const call = { signal: new AbortController().signal };
const by = (token: string) => ({ token, leaseMs: 30_000, retainMs: 1_000_000 });
const keyOf = (index: number) => index.toString(16).padStart(8, "0").padEnd(32, "0");

async function opened(...given: Parameters<typeof cloud>) {
  const made = await cloud(...given);
  onTestFinished(() => made.close());
  return made;
}

test("a done record and a live lease survive an eviction", async () => {
  const { store, evict } = await opened();
  await store.claim(keyOf(1), by("a"), call);
  await store.complete(keyOf(1), by("a"), call);
  await store.claim(keyOf(2), by("a"), call);
  await evict();
  expect(await store.claim(keyOf(1), by("b"), call)).toEqual({ status: "done" });
  expect(await store.claim(keyOf(2), by("b"), call)).toMatchObject({ status: "busy" });
  expect(await store.extend(keyOf(2), by("a"), call)).toBe(true);
});

test("a done record survives a restart of the platform", async () => {
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-objects-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const before = await cloud(3, directory);
  await before.store.complete(keyOf(1), by("a"), call);
  await before.close();
  const { store } = await opened(3, directory);
  expect(await store.claim(keyOf(1), by("b"), call)).toEqual({ status: "done" });
});

test("records spread over the shards by their keys", async () => {
  const { store, control } = await opened(3);
  for (let index = 0; index < 9; index += 1) await store.claim(keyOf(index), by("a"), call);
  expect(await control("count")).toEqual([3, 3, 3]);
});

test("an alarm removes only expired records", async () => {
  const { store, control, advance } = await opened(1);
  await store.complete(keyOf(1), { ...by("a"), retainMs: 1_000 }, call);
  await store.complete(keyOf(2), by("a"), call);
  await advance(1_000);
  expect(await control("alarm")).toEqual([true]);
  expect(await control("count")).toEqual([1]);
});

test("a clock set back by decades does not keep records for decades", async () => {
  const { store, control, advance } = await opened(1);
  const year = 31_536_000_000;
  await store.complete(keyOf(1), by("a"), call);
  await advance(-30 * year);
  await control("alarm");
  await advance(year - 1);
  await control("alarm");
  expect(await store.claim(keyOf(1), by("b"), call)).toEqual({ status: "done" });
  await advance(1);
  await control("alarm");
  expect(await control("count")).toEqual([0]);
});

test("a call with another number of shards rejects", async () => {
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-objects-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const before = await cloud(3, directory);
  await before.store.complete(keyOf(1), by("a"), call);
  await before.close();
  const { store } = await opened(4, directory);
  await expect(store.claim(keyOf(1), by("b"), call)).rejects.toThrow(
    "This namespace was set up with 3 shards. Set `shards` to 3.",
  );
});

test("100 concurrent claims on one key have one owner", async () => {
  const { store } = await opened();
  const racers = Array.from({ length: 100 }, async (_, index) =>
    store.claim(keyOf(1), by(`racer ${index}`), call),
  );
  const statuses = (await Promise.all(racers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === "claimed")).toHaveLength(1);
  expect(statuses.filter((status) => status === "busy")).toHaveLength(99);
});
