import { Progress } from "@svc-webhooks/kit/progress";
import { onTestFinished } from "vitest";
import { startHerd } from "./herd.js";
import { crashRepeatedly, silence, unleash, type Temper } from "./monkey.js";
import { send, type Load } from "./sender.js";
import { now, realLeaseMs } from "./time.js";
import { exactlyOnce, judge, type Strike, type Verdict } from "./verdict.js";
import type { World } from "./world.js";

export interface ChaosRun extends Omit<Load, "isMoreNeeded" | "progress"> {
  readonly seed: string;
  readonly world: World;
  /** The status of responses to copies of a running delivery. Default: 503. 200 is the mistake that loses events. */
  readonly inFlight?: 200 | 503;
  /** The number of acknowledged events between crashes of the world's server. Default: it does not crash. */
  readonly crashEvery?: number;
  /** The strikes on the receivers. Default: kills and freezes. */
  readonly temper?: Temper;
  /** Continues with further events until so many strikes have happened. Default: none. */
  readonly atLeast?: Strikes;
  /** A queue from which the handlers run. Default: they run in the request. */
  readonly queue?: ChaosQueue;
  /** Counts the acknowledged events. Strikes come after a number of them. Default: a new one. */
  readonly progress?: Progress;
}

/** The numbers of strikes on receivers, of silences, and of crashes of the world's server or of the queue. */
export interface Strikes {
  readonly kills?: number;
  readonly freezes?: number;
  readonly silences?: number;
  readonly crashes?: number;
}

export interface ChaosQueue {
  /** The port of its Redis server. */
  readonly port: number;
  /** Returns how often the server has crashed. */
  readonly crashes: () => number;
  /** Resolves when no job is left. */
  readonly emptied: () => Promise<void>;
}

export interface ChaosResult {
  readonly verdict: Verdict;
  /** The number of events that the sender has sent and got acknowledged. */
  readonly events: number;
  /** The number of processes that were killed. */
  readonly killed: number;
  /** The total number of effects. */
  readonly effects: number;
  /** The number of times that handlers have incremented the world's counter, if it has one. */
  readonly counter: number | undefined;
  /** The figures of the run, as text to print. */
  readonly summary: string;
}

/** Returns the expected result if effects and completions share a transaction. */
export const eachExactlyOnce = (
  events: number,
): Pick<ChaosResult, "verdict" | "events" | "effects" | "counter"> => ({
  verdict: exactlyOnce,
  events,
  effects: events,
  counter: events,
});

/**
 * Sends events to three receivers in one world, while the receivers are killed and frozen and the network goes silent.
 */
export async function runChaos({
  seed,
  world,
  inFlight = 503,
  crashEvery,
  temper,
  atLeast = {},
  queue,
  progress = new Progress(),
  ...load
}: ChaosRun): Promise<ChaosResult> {
  const herd = await startHerd(3, { site: world.site, inFlight, queuePort: queue?.port });
  onTestFinished(herd.killAll);

  const epoch = Date.now() - now();
  const startedAt = now();
  const monkey = unleash(herd, seed, progress, temper);
  const crashes = crashRepeatedly(world, progress, crashEvery);
  const silences = silence(world, seed, progress);
  const countOf = (wanted: Strike["kind"]) =>
    monkey.strikes.filter(({ kind }) => kind === wanted).length;
  const isMoreNeeded = () =>
    countOf("kill") < (atLeast.kills ?? 0) ||
    countOf("freeze") < (atLeast.freezes ?? 0) ||
    silences.strikes.length < (atLeast.silences ?? 0) ||
    crashes.count() + (queue?.crashes() ?? 0) < (atLeast.crashes ?? 0);
  const { acks, results, sent, done } = send(herd.places, seed, {
    ...load,
    progress,
    isMoreNeeded,
  });
  // A world without a network has no silences that could be over.
  const ended = world.network ? Promise.race([done, silences.over]) : done;
  await ended.finally(() => Promise.all([monkey.stop(), crashes.stop(), silences.stop()]));
  await queue?.emptied();
  await herd.drain();
  const seconds = (now() - startedAt) / 1_000;

  const effects = await world.effects();
  const strikes = [...monkey.strikes, ...silences.strikes, ...(world.stalls?.() ?? [])];
  const counter = await world.counter?.();
  const verdict = judge({ effects, acks, strikes, epoch, leaseMs: realLeaseMs });
  const { killed, frozen, silenced, unexplained } = verdict.doubles;

  const kills = countOf("kill");
  const freezes = monkey.strikes.filter(({ kind }) => kind === "freeze");
  const longFreezes = freezes.filter(({ from, to }) => to - from > realLeaseMs);
  const silenceMs = silences.strikes.map(({ from, to }) => to - from);
  const summary = [
    `seed ${seed}: ${sent()} events in ${seconds.toFixed(0)} s, copies in flight got ${inFlight}`,
    `attempts: ${Array.from(results, ([result, count]) => `${count} ${result}`).join(", ")}`,
    `kills: ${kills}; freezes: ${freezes.length}, ${longFreezes.length} of them past the lease; crashes of the server: ${crashes.count()}`,
    `silences of all connections: ${silenceMs.length}, which were left after ${Math.round(Math.max(0, ...silenceMs))} ms at most`,
    `effects: ${effects.length}; double runs: ${killed} after a kill, ${frozen} after a freeze, ${silenced} after a silence, ${unexplained.length} unexplained`,
    `lost: ${verdict.lost.length}; acknowledged too early: ${verdict.early.length}`,
  ];
  return {
    verdict,
    events: sent(),
    killed: kills,
    effects: effects.length,
    counter,
    summary: summary.join("\n  "),
  };
}
