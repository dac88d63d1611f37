import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { tableOf } from "./crash-points-table.js";
import { playAll, type Story, type Verdict } from "./crash-points.js";

const tableFile = fileURLToPath(new URL("../../docs/guarantees-table.md", import.meta.url));

const stories = await playAll();

const endingAs = (verdict: Verdict, among: readonly Story[] = stories) =>
  among
    .filter((story) => story.verdict === verdict)
    .map(({ point, fault }) => `${point}: ${fault}`);

describe("whatever fails, at whichever point of a delivery,", () => {
  test("no event is lost", () => {
    expect(endingAs("lost")).toEqual([]);
  });

  test("a process that dies runs an event twice only between its effect and its completion", () => {
    expect(endingAs("doubled").filter((cell) => cell.endsWith("dies"))).toEqual([
      "after the effect, before complete: the process dies",
      "complete sent, not executed: the process dies",
    ]);
  });

  test("a store that is away runs no event twice, unless the service is asked to redeliver", () => {
    expect(endingAs("doubled").filter((cell) => cell.includes("store is away"))).toEqual([]);
    const untold = endingAs("clean until redelivered");
    expect(untold.filter((cell) => !cell.endsWith("the store is away for 60 s"))).toEqual([]);
  });

  test("no event has more than two effects, and both carry the same idempotency key", () => {
    for (const { effects } of stories) {
      expect(effects.length).toBeLessThanOrEqual(2);
      expect(new Set(effects.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    }
  });

  test("an effect that comes after that of a newer run has the lower fence", () => {
    const late = stories.filter(
      ({ effects: [first, second] }) => first && second && second.fence < first.fence,
    );
    expect(late.map(({ point, fault }) => `${point}: ${fault}`)).toEqual([
      "in the handler, before the effect: the process freezes for 60 s",
    ]);
  });
});

test("events would be lost if copies in flight were answered 200", async () => {
  expect(endingAs("lost", await playAll("200 in_flight"))).toEqual([
    "claim executed, reply not read: the process dies",
    "claim executed, reply not read: the process freezes for 60 s",
    "claimed, handler not started: the process dies",
    "claimed, handler not started: the process freezes for 60 s",
    "in the handler, before the effect: the process dies",
  ]);
});

test("the table in the documents is what has just been seen", async () => {
  await expect(tableOf(stories)).toMatchFileSnapshot(tableFile);
});
