import { randomBytes } from "node:crypto";
import type { Bar, Race } from "./race.js";
import { ratePerSecond, takeTurns, type Work } from "./turns.js";

/** The name of the lane of the store under test. */
export const ours = "svc-webhooks";

export const nameOf = (records: number): string => `${records.toLocaleString("en")} records`;

// Returns a random key, because receivers use hashes as keys, so inserts reach the index in random order.
export const newKey = (): string => randomBytes(16).toString("hex");

export const token: string = randomBytes(16).toString("base64url");
export const request = { token, leaseMs: 30_000, retainMs: 7 * 24 * 60 * 60_000 };
export const call = { signal: new AbortController().signal };

/**
 * Measures the calls per second of contenders, with one call in flight per connection. The first contender is the
 * reference.
 */
export async function speedRace(
  title: string,
  connections: number,
  quick: boolean,
  contenders: Readonly<Record<string, Work>>,
  ...bars: readonly Bar[]
): Promise<Race> {
  const turns = Object.entries(contenders).map(
    ([name, work]) => [name, () => ratePerSecond(connections, quick ? 10 : 150, work)] as const,
  );
  const lanes = await takeTurns(Object.fromEntries(turns), quick ? 1 : 30);
  const [reference = ""] = Object.keys(contenders);
  return {
    title,
    unit: "/s",
    reference,
    lanes,
    bars: bars.map((bar) => ({ against: reference, ...bar })),
  };
}
