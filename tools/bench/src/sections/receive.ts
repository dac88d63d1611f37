import { startChild, type Child } from "../child.js";
import type { Bar, Race } from "../race.js";
import { limit } from "../receivers.js";
import type { RunSection } from "../sections.js";
import { takeTurns, type Turn } from "../turns.js";

const lane = "svc-webhooks";
const against = "hand-written";
const withTelemetry = "with telemetry, without an SDK";

export const run: RunSection = async (quick) => {
  async function race(
    title: string,
    handler: "sync" | "async",
    bytes: number,
    bars: readonly Bar[] = [],
    contenders: readonly string[] = [against, lane],
  ): Promise<Race> {
    const children: Child[] = [];
    try {
      const turns: Record<string, Turn> = {};
      // In 1 kB races, fills the memory store to its capacity, so that each delivery evicts a record. The hand-written
      // receiver drops records too, in generations of 100,000.
      const filled = quick || bytes > 1_024 ? 1 : 100_000;
      for (const name of contenders) {
        const args = [name, handler, String(bytes), String(filled)];
        const child = startChild("receive-process.js", args);
        children.push(child);
        await child.reply();
        turns[name] = async () => Number(await child.reply(quick ? "1" : "100"));
      }
      const lanes = await takeTurns(turns, quick ? 1 : 40);
      return {
        title: `${title}, CPU time`,
        unit: "µs",
        reference: contenders[0] ?? "",
        lanes,
        bars,
      };
    } finally {
      for (const child of children) child.stop();
    }
  }

  return {
    title: "Receive",
    races: [
      await race("receive(), 1 kB", "sync", 1_024, [
        { lane, against, atMost: 1.35, aim: 1.25, limit },
      ]),
      // When a handler returns a promise, the receiver also maintains the lease and enforces the time limit.
      await race("receive(), 1 kB, async handler", "async", 1_024, [
        { lane, against, atMost: 1.4, aim: 1.3, limit },
      ]),
      await race("receive(), 10 kB", "sync", 10_240),
      await race("receive(), 100 kB", "sync", 102_400),
      await race("receive(), 1 MB", "sync", 2 ** 20),
      // No OpenTelemetry SDK is registered, as in an application that passes `telemetry()` but has no exporter.
      await race(
        "receive(), 1 kB, async handler, with telemetry",
        "async",
        1_024,
        [{ lane: withTelemetry, against: lane, atMost: 1.5, aim: 1.3 }],
        [lane, withTelemetry],
      ),
    ],
  };
};
