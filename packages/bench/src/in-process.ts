import type { Lane } from "./race.js";

/** Does the work once. Awaited, so that who works synchronously pays for it as well. */
export type Work = () => unknown;

export interface Pace {
  readonly rounds: number;
  /** How long one turn of one contender lasts at least, in milliseconds. */
  readonly turnMs: number;
}

/**
 * Lets contenders work by turns, in changing order: A B C, C B A, … One value a round each: microseconds
 * per call. What slows the machine for a while slows neighbours alike.
 */
export async function takeTurns(
  contenders: Readonly<Record<string, Work>>,
  { rounds, turnMs }: Pace,
): Promise<Lane[]> {
  const runners: { name: string; work: Work; calls: number; values: number[] }[] = [];
  for (const [name, work] of Object.entries(contenders)) {
    runners.push({ name, work, calls: await callsIn(work, turnMs), values: [] });
  }
  for (let round = 0; round < rounds; round++) {
    runners.reverse();
    for (const { work, calls, values } of runners) {
      values.push(((await time(work, calls)) / calls) * 1_000);
    }
  }
  const order = Object.keys(contenders);
  return runners.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

/** How many calls fill a turn, once the compiler has seen the work. */
async function callsIn(work: Work, turnMs: number): Promise<number> {
  let calls = 1;
  for (;;) {
    const ms = await time(work, calls);
    if (ms >= turnMs) return calls;
    calls = Math.ceil(calls * Math.min(Math.max((1.2 * turnMs) / ms, 1.5), 10));
  }
}

async function time(work: Work, calls: number): Promise<number> {
  const start = performance.now();
  for (let call = 0; call < calls; call++) await work();
  return performance.now() - start;
}
