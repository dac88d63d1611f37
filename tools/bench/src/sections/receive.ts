import { telemetry } from "@svc-webhooks/otel";
import { deliveriesOf } from "../deliveries.js";
import type { Bar, Race } from "../race.js";
import { handWritten, limit, ours } from "../receivers.js";
import type { RunSection } from "../sections.js";
import { timeInTurns } from "../turns.js";

const nothing = () => {};
const resolved = async () => {};
const lane = "svc-webhooks";
const against = "hand-written";
const bar = { lane, against, atMost: 1.6, aim: 1.4, limit };
const asyncBar = { lane, against, atMost: 1.55, aim: 1.45, limit };

export const run: RunSection = async (quick) => {
  async function race(
    title: string,
    bytes: number,
    handle: () => void | Promise<void>,
    bars: readonly Bar[] = [],
  ): Promise<Race> {
    const next = deliveriesOf(bytes);
    const [theirs, our] = [handWritten(handle), ours(handle)];
    // In 1 kB races, fills the memory store to its capacity, so that each delivery evicts a record. The hand-written
    // receiver also drops its records in generations of 100,000.
    for (let filled = 0; filled < (quick || bytes > 1_024 ? 1 : 100_000); filled++) {
      await theirs(next());
      await our(next());
    }
    const works = { "hand-written": () => theirs(next()), "svc-webhooks": () => our(next()) };
    const lanes = await timeInTurns(works, quick ? 1 : 80, quick ? 1 : 25);
    return { title, unit: "µs", reference: "hand-written", lanes, bars };
  }

  /** Measures telemetry without a registered SDK, as in an application that has the package but no exporter. */
  async function telemetryRace(): Promise<Race> {
    const next = deliveriesOf(1_024);
    const [without, instrumented] = [ours(resolved), ours(resolved, telemetry())];
    const works = {
      "without telemetry": () => without(next()),
      "with telemetry, without an SDK": () => instrumented(next()),
    };
    const lanes = await timeInTurns(works, quick ? 1 : 80, quick ? 1 : 25);
    const title = "receive(), 1 kB, async handler, with telemetry";
    return { title, unit: "µs", reference: "without telemetry", lanes, bars: [] };
  }

  return {
    title: "Receive",
    races: [
      await race("receive(), 1 kB", 1_024, nothing, [bar]),
      // When a handler returns a promise, the receiver also maintains the lease and enforces the time limit.
      await race("receive(), 1 kB, async handler", 1_024, resolved, [asyncBar]),
      await race("receive(), 10 kB", 10_240, nothing),
      await race("receive(), 100 kB", 102_400, nothing),
      await race("receive(), 1 MB", 2 ** 20, nothing),
      await telemetryRace(),
    ],
  };
};
