import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { DeliveryStore } from "@svc-webhooks/core";
import { call } from "@svc-webhooks/kit/receivers";
import { cloud } from "./support.js";

const by = (token: string) => ({ token, leaseMs: 30_000, retainMs: 1_000_000 });
const keyOf = (index: number) => index.toString(16).padStart(8, "0").padEnd(32, "0");

async function opened(...given: Parameters<typeof cloud>) {
  const made = await cloud(...given);
  onTestFinished(() => made.close());
  return made;
}

/** Returns a folder with the storage of a platform with 3 shards that was used, by default for one record, and stopped. */
async function stoppedPlatform(
  use = (store: DeliveryStore): unknown => store.complete(keyOf(1), by("a"), call),
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-objects-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const { store, close } = await cloud(3, directory);
  await use(store);
  await close();
  return directory;
}

test("a done record survives a restart of the platform", async () => {
  const { store } = await opened(3, await stoppedPlatform());
  expect(await store.claim(keyOf(1), by("b"), call)).toEqual({ status: "done" });
});

test("a call with another number of shards rejects", async () => {
  const { store } = await opened(4, await stoppedPlatform());
  await expect(store.claim(keyOf(1), by("b"), call)).rejects.toThrow(
    "This namespace was set up with 3 shards. Set `shards` to 3.",
  );
});

test("a peek sets up no namespace, so any number of shards can still be chosen", async () => {
  const { store } = await opened(
    4,
    await stoppedPlatform((peeked) => peeked.peek?.([keyOf(1)], call)),
  );
  expect(await store.claim(keyOf(1), by("b"), call)).toMatchObject({ status: "claimed" });
  expect(await store.peek?.([keyOf(1)], call)).toEqual(["running"]);
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
