import type { Lane } from "./race.js";

/** Measures a contender once. */
export type Turn = () => number | Promise<number>;

/**
 * Measures contenders in turns, in alternating order: A B C, C B A, … Load on the machine that lasts longer than a turn
 * then slows down all contenders of a round. The first turn of each contender is not recorded.
 */
export async function takeTurns(
  contenders: Readonly<Record<string, Turn>>,
  rounds: number,
): Promise<Lane[]> {
  const lanes = Object.entries(contenders).map(([name, turn]) => ({
    name,
    turn,
    values: [] as number[],
  }));
  for (const { turn } of lanes) await turn();
  for (let round = 0; round < rounds; round++) {
    for (const { turn, values } of round % 2 ? lanes.toReversed() : lanes) {
      values.push(await turn());
    }
  }
  return lanes.map(({ name, values }) => ({ name, values }));
}

/** The work of one call. It is awaited even if it is synchronous, so that every contender pays for the await. */
export type Work = () => unknown;

/** Measures the microseconds per call of each contender. A turn takes about `turnMs` milliseconds. */
export async function timeInTurns(
  contenders: Readonly<Record<string, Work>>,
  rounds: number,
  turnMs: number,
): Promise<Lane[]> {
  const turns: Record<string, Turn> = {};
  for (const [name, work] of Object.entries(contenders)) {
    const calls = await callsIn(work, turnMs);
    turns[name] = async () => ((await time(work, calls)) / calls) * 1_000;
  }
  return takeTurns(turns, rounds);
}

/** Measures the calls per second of each contender, as {@link timeInTurns} does. */
export async function ratesInTurns(...args: Parameters<typeof timeInTurns>): Promise<Lane[]> {
  const lanes = await timeInTurns(...args);
  return lanes.map(({ name, values }) => ({ name, values: values.map((us) => 1e6 / us) }));
}

/** Finds a number of calls that together take at least `turnMs` milliseconds. Also warms up the JIT compiler. */
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

/** Measures the calls per second during `turnMs` milliseconds, with `inFlight` calls running concurrently. */
export async function ratePerSecond(inFlight: number, turnMs: number, work: Work): Promise<number> {
  const start = performance.now();
  let calls = 0;
  const worker = async () => {
    while (performance.now() - start < turnMs) {
      await work();
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (calls / (performance.now() - start)) * 1_000;
}
