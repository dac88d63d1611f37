import { setTimeout as pause } from "node:timers/promises";
import type { Progress } from "@svc-webhooks/kit/progress";
import type { Herd, Place } from "./herd.js";
import { seeded } from "@svc-webhooks/kit/random";
import { now, realLeaseMs } from "./time.js";
import type { Strike } from "./verdict.js";
import type { World } from "./world.js";

export interface Monkey {
  readonly strikes: readonly Strike[];
  /** Stops striking, and resolves when all processes are running again. */
  readonly stop: () => Promise<void>;
}

/** Which strikes a monkey carries out. The list is drawn from, so a kind that is in it twice is twice as likely. */
export type Temper = readonly ("kill" | "freeze" | "freeze and kill")[];

const moody: Temper = ["kill", "kill", "freeze", "freeze", "freeze and kill"];

/** The longest time without a strike, in milliseconds: some processes progress again only after a kill. */
export const mostCalmMs = 15_000;

/** Kills and freezes up to two processes at a time as the run progresses, and restarts those that it killed. */
export function unleash(
  herd: Herd,
  seed: string,
  progress: Progress,
  temper: Temper = moody,
): Monkey {
  const random = seeded(`${seed}/monkey`);
  const strikes: Strike[] = [];
  const pending = new Map<Place, Promise<void>>();
  const stopped = new AbortController();

  const strike = async (kind: Strike["kind"], pid = 0, act: () => Promise<void>) => {
    const from = now();
    await act();
    strikes.push({ kind, pid, from, to: now() });
  };

  /**
   * Makes all choices for one strike, even if it will not be carried out, so that the same seed always leads to the
   * same choices.
   */
  const choose = () => ({
    place: random.pick(herd.places),
    what: random.pick(temper),
    frozenMs: (realLeaseMs * random.pick([10, 30, 50, 110, 130, 150, 200])) / 100,
    goneMs: random.between(0, 200),
    staysOnPort: random.chance(0.5),
  });

  const carryOut = async ({ place, what, frozenMs, ...choice }: ReturnType<typeof choose>) => {
    const { process, port } = place;
    if (what !== "kill") {
      await strike("freeze", process.pid, async () => {
        process.kill("SIGSTOP");
        await pause(frozenMs);
        if (what === "freeze") process.kill("SIGCONT");
      });
    }
    if (what === "freeze") return;
    await strike("kill", process.pid, place.kill);
    await pause(choice.goneMs);
    await place.start(choice.staysOnPort ? port : 0);
  };

  const rage = async () => {
    while (!stopped.signal.aborted) {
      await progress.after(random.between(2, 16), stopped.signal, mostCalmMs);
      // The moment of a step is not the only one that matters.
      await pause(random.between(0, 100));
      if (stopped.signal.aborted) break;
      const choice = choose();
      // At least one of the three processes keeps running, because no mistake can happen while all of them are stopped.
      if (pending.has(choice.place) || pending.size > 1) continue;
      const work = carryOut(choice).finally(() => pending.delete(choice.place));
      pending.set(choice.place, work);
    }
    await Promise.all(pending.values());
  };
  const raging = rage();

  return {
    strikes,
    stop() {
      stopped.abort();
      return raging;
    },
  };
}

export interface Crashes {
  readonly count: () => number;
  /** Stops crashing the server, and resolves once it is running again. */
  readonly stop: () => Promise<void>;
}

/** Crashes a world's server after every number of steps. */
export function crashRepeatedly({ crash }: World, progress: Progress, every = Infinity): Crashes {
  let count = 0;
  const stopped = new AbortController();
  const all = progress.every(every, stopped.signal, async () => {
    if (!crash) return;
    await crash();
    count += 1;
  });
  return {
    count: () => count,
    stop() {
      stopped.abort();
      return all;
    },
  };
}

export interface Silences {
  readonly strikes: readonly Strike[];
  /**
   * Resolves when silencing has stopped. Rejects if receivers still use silenced connections after `longestSilenceMs`.
   */
  readonly over: Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * The longest permitted silence. Receivers leave a silenced connection within 10 s, a frozen receiver keeps it for up to
 * two more leases, and a busy machine takes longer.
 */
const longestSilenceMs = 300_000;

/** Repeatedly silences all of the receivers' connections, each time after they have worked for a while. */
export function silence({ network }: World, seed: string, progress: Progress): Silences {
  const random = seeded(`${seed}/silence`);
  const strikes: Strike[] = [];
  const stopped = new AbortController();
  const silencing = async () => {
    if (!network) return;
    while (!stopped.signal.aborted) {
      await progress.after(random.between(40, 160), stopped.signal);
      if (stopped.signal.aborted) return;
      const from = now();
      network.abandon();
      while (network.abandoned() > 0 && !stopped.signal.aborted) {
        if (now() - from > longestSilenceMs) {
          throw new Error(
            `Receivers have used dead connections for ${longestSilenceMs / 1_000} s.`,
          );
        }
        await pause(10);
      }
      strikes.push({ kind: "silence", pid: 0, from, to: now() });
    }
  };
  const over = silencing();
  return {
    strikes,
    over,
    stop() {
      stopped.abort();
      return over;
    },
  };
}
