import { setTimeout as pause } from "node:timers/promises";
import type { Herd, Place } from "./process-herd.js";
import { seeded } from "./process-random.js";
import { now, realLeaseMs } from "./process-time.js";
import type { Strike } from "./process-verdict.js";

export interface Monkey {
  readonly strikes: readonly Strike[];
  /** Lets go, and resolves when all processes run again. */
  readonly stop: () => Promise<void>;
}

/** Kills and freezes processes, several at a time, and starts what it has killed anew. */
export function unleash(herd: Herd, seed: string): Monkey {
  const random = seeded(`${seed}/monkey`);
  const strikes: Strike[] = [];
  const underWay = new Map<Place, Promise<void>>();
  const stopped = new AbortController();

  const strike = async (kind: Strike["kind"], pid = 0, act: () => Promise<void>) => {
    const from = now();
    await act();
    strikes.push({ kind, pid, from, to: now() });
  };

  /** All choices of one strike, drawn whether or not it can be carried out. */
  const choose = () => ({
    place: random.pick(herd.places),
    what: random.pick(["kill", "kill", "freeze", "freeze", "freeze and kill"]),
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
      await pause(random.between(100, 500));
      const choice = choose();
      // One is left alone: while all are out, nothing can go wrong.
      if (underWay.has(choice.place) || underWay.size > 1) continue;
      const work = carryOut(choice).finally(() => underWay.delete(choice.place));
      underWay.set(choice.place, work);
    }
    await Promise.all(underWay.values());
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
