import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { endsLate, tableOf } from "./table.js";
import { playAll, type Story, type Verdict } from "./stories.js";

const tableFile = fileURLToPath(new URL("../../../docs/guarantees-table.md", import.meta.url));

// Retry delays have jitter, which is fixed here so that the table is the same on every run.
vi.spyOn(Math, "random").mockReturnValue(0.5);

const stories = await playAll();

const cellOf = ({ point, fault }: Story) => `${point}: ${fault}`;

const endingAs = (verdict: Verdict, among: readonly Story[] = stories) =>
  among.filter((story) => story.verdict === verdict).map(cellOf);

const afterMaxRunMs = "5 s into a handler of 16 min: ";
const doubled = endingAs("doubled").filter((cell) => !cell.startsWith(afterMaxRunMs));

describe("for every fault at every point of a delivery,", () => {
  test("no event is lost", () => {
    expect(endingAs("lost")).toEqual([]);
  });

  test("a process that dies runs an event twice only between its effect and its completion", () => {
    expect(doubled.filter((cell) => cell.endsWith("dies"))).toEqual([
      "after the effect, before complete: the process dies",
      "complete sent, not executed: the process dies",
    ]);
  });

  test("a process that freezes past its lease runs an event twice only between handler and completion", () => {
    expect(doubled.filter((cell) => cell.includes("freezes"))).toEqual([
      "in the handler, before the effect: the process freezes for 60 s",
      "5 s into a handler of 90 s: the process freezes for 60 s",
      "after the effect, before complete: the process freezes for 60 s",
      "complete sent, not executed: the process freezes for 60 s",
    ]);
  });

  test("a store that is unavailable from the effect until complete's retries end runs an event again only if the service redelivers it", () => {
    expect(endingAs("clean until redelivered")).toEqual([
      "claimed, handler not started: the store is unavailable for 60 s",
      "in the handler, before the effect: the store is unavailable for 60 s",
      "after the effect, before complete: the store is unavailable for 60 s",
      "complete sent, not executed: the store is unavailable for 60 s",
    ]);
  });

  test("a store that is unavailable for longer than a lease during a handler runs an event twice if another receiver claims first", () => {
    expect(doubled.filter((cell) => cell.includes("store"))).toEqual([
      "5 s into a handler of 90 s: the store is unavailable for 60 s",
    ]);
  });

  test("a handler longer than maxRunMs runs an event twice, even if nothing fails", () => {
    const long = stories.map(cellOf).filter((cell) => cell.startsWith(afterMaxRunMs));
    expect(endingAs("doubled")).toEqual(expect.arrayContaining(long));
    expect(long).toContain(`${afterMaxRunMs}nothing fails`);
    expect(doubled.filter((cell) => cell.endsWith("nothing fails"))).toEqual([]);
  });

  test("all effects of an event have the same idempotency key, and there are at most two within maxRunMs", () => {
    for (const story of stories) {
      const { effects } = story;
      expect(new Set(effects.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      if (!cellOf(story).startsWith(afterMaxRunMs)) expect(effects.length).toBeLessThanOrEqual(2);
    }
  });

  test("an effect that follows that of a newer run has a lower fence", () => {
    expect(stories.filter(endsLate).map(cellOf)).toEqual([
      "in the handler, before the effect: the process freezes for 60 s",
      "5 s into a handler of 90 s: the process freezes for 60 s",
    ]);
  });
});

test("events are lost if copies in flight get 200", async () => {
  expect(endingAs("lost", await playAll("200 in_flight"))).toEqual([
    "claim executed, reply not read: the process dies",
    "claim executed, reply not read: the process freezes for 60 s",
    // A claim is released only once the store is back, so copies are in flight until then.
    "claim executed, reply not read: the store is unavailable for 5 s",
    "claimed, handler not started: the process dies",
    "claimed, handler not started: the process freezes for 60 s",
    "in the handler, before the effect: the process dies",
    "5 s into a handler of 90 s: the process dies",
    "5 s into a handler of 16 min: the process dies",
  ]);
});

test("the documented table matches the observed results", async () => {
  await expect(tableOf(stories)).toMatchFileSnapshot(tableFile);
});
