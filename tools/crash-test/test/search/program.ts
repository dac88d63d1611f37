import type { Fault } from "../../src/faults.js";
import type { Crossing, History, Runner, Step, Variant } from "../../src/history.js";

/*
 * A model of a handler, for tests of the search: its crossings in order. A crash or a failure ends a run, and the next
 * run starts from the beginning. A program is acknowledged when a run reaches its end.
 */

export interface Program {
  /** `charge` is a call without a key, `keyed` one with a key, `claim` and `complete` are the store's. */
  readonly crossings: readonly string[];
  /** The run in which the program ends before its first call, as a handler that gives up. */
  readonly givesUpInRun?: number;
  /** Changes the names of calls from history to history. */
  readonly isRandom?: boolean;
  readonly isRefused?: boolean;
}

const isOfStore = (name: string) => name === "claim" || name === "complete";

/** Returns a runner of a program, and the lists of faults that it has run. */
export function runnerOf(program: Program): Runner & { readonly ran: string[][] } {
  const ran: string[][] = [];
  return {
    ran,
    run: async (faults: readonly Fault[], variant?: Variant) => {
      if (variant === undefined) ran.push(faults.map(({ kind, point }) => `${kind}@${point}`));
      return historyOf(program, faults, ran.length);
    },
  };
}

function historyOf(program: Program, faults: readonly Fault[], count: number): History {
  const crossings: Crossing[] = [];
  const steps: Step[] = [];
  const calls: { name: string; key?: string; event: number; crossing: number }[] = [];
  const attempts: {
    event: number;
    n: number;
    isCopy: boolean;
    process: string;
    startedMs: number;
    endedMs: number;
    status?: number;
  }[] = [];
  let worldAtDeath: string | undefined;
  let isAcknowledged = false;

  for (let run = 1; run <= 5 && !isAcknowledged; run += 1) {
    attempts.push({ event: 0, n: run, isCopy: false, process: "A", startedMs: 0, endedMs: 0 });
    isAcknowledged = runOnce(run) && !program.isRefused;
    const last = attempts.at(-1);
    if (last && isAcknowledged) last.status = 200;
    steps.push({ type: "attempt", ms: 0, attempt: attempts.length - 1 });
  }

  function runOnce(run: number): boolean {
    for (const crossed of program.crossings) {
      if (!isOfStore(crossed) && run === program.givesUpInRun) return true;
      const name =
        program.isRandom === true && !isOfStore(crossed) ? `${crossed} ${count}` : crossed;
      const n = crossings.length + 1;
      const before = faults.find(({ point }) => point === 2 * n - 1);
      const after = faults.find(({ point }) => point === 2 * n);
      const isSent = before?.kind !== "crash" && before?.kind !== "fail";
      crossings.push({
        n,
        name,
        kind: isOfStore(crossed) ? "store" : "call",
        effects: isOfStore(crossed) ? [] : [name],
        reads: [],
        key: crossed === "keyed" ? "key" : undefined,
        process: "A",
        attempt: attempts.length - 1,
        issuedMs: 0,
        executedMs: isSent ? 0 : undefined,
        isRejected: false,
        isUndone: false,
      });
      if (isSent) steps.push({ type: "executed", ms: 0, crossing: n });
      if (isSent && !isOfStore(crossed)) {
        calls.push({ name, ...(crossed === "keyed" ? { key: "key" } : {}), event: 0, crossing: n });
      }
      const fault = before ?? after;
      if (fault?.kind === "crash")
        worldAtDeath = JSON.stringify([
          run,
          crossings.filter(({ executedMs }) => executedMs === 0).map((one) => one.name),
        ]);
      if (!isSent || after) return false;
    }
    return true;
  }

  const state = { tables: {}, observed: {} };
  const acknowledged = [isAcknowledged];
  return {
    faults,
    crossings,
    attempts,
    steps,
    calls,
    start: state,
    end: state,
    acknowledged,
    unseen: [],
    worldAtDeath,
  };
}
