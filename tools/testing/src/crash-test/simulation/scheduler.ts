import { setImmediate as realSetImmediate } from "node:timers";
import { CrashTestError } from "@svc-webhooks/crash-test";
import type { Crossings } from "../virtual/crossings.js";
import type { VirtualTime } from "../virtual/time.js";

/** The number of turns of the event loop without activity after which the next step starts. */
const quietTurns = 2;
/** The maximum number of turns to wait for operations of the platform, such as file reads, before the next step. */
const patientTurns = 200_000;

/** The maximum number of steps in one `drive`, enough for hundreds of attempts and a timer that fires every 10 ms. */
const mostSteps = 100_000;
/** The maximum number of turns with activity between two steps. */
const mostTurns = 100_000;
/** The maximum number of turns to wait for a reply that needs neither time nor an operation of the platform. */
const replyTurns = 1_000;

// Uses the real function, imported before it is replaced: the virtual function would wait for this scheduler.
const nextTurn = (): Promise<void> => new Promise((resolve) => void realSetImmediate(resolve));

export interface Scheduled {
  readonly time: VirtualTime;
  readonly crossings: Crossings;
  readonly pendingOperations: ReadonlySet<number>;
}

/**
 * Runs a history step by step until `isDone` returns true, then resolves to true. A step sends the next call or moves
 * time to the next timer. Resolves to false if nothing is left to do, or if the next timer is later than `untilMs`.
 *
 * @throws CrashTestError (as a rejection) `endless`
 */
export async function drive(
  { time, crossings, pendingOperations }: Scheduled,
  isDone: () => boolean,
  untilMs: () => number,
): Promise<boolean> {
  let replyPatience = replyTurns;
  for (let steps = 0; steps < mostSteps; steps += 1) {
    await quiet();
    if (isDone()) return true;
    if (crossings.sendNext()) continue;
    const next = time.nextMs();
    if (next !== undefined && next <= untilMs()) time.fireNext();
    else if (crossings.executing > 0 && next === undefined && (replyPatience -= 1) > 0) {
      await nextTurn();
    } else return false;
  }
  throw endless("The code under test keeps setting timers");

  /** Resolves when the code waits for a reply or for time to pass. */
  async function quiet(): Promise<void> {
    let last = -1;
    let patience = patientTurns;
    let busyTurns = 0;
    for (let turns = 0; turns < quietTurns; turns += 1) {
      await nextTurn();
      const isBusy = time.pendingTurns > 0 || (pendingOperations.size > 0 && (patience -= 1) > 0);
      if (isBusy || time.activity !== last) turns = -1;
      if (time.activity !== last) busyTurns += 1;
      if (busyTurns > mostTurns) throw endless("The code under test never waits");
      last = time.activity;
    }
  }
}

const endless = (what: string): CrashTestError =>
  new CrashTestError(
    "endless",
    `${what}, so the history never ends. End loops when \`context.signal\` is aborted, or start them outside the \`receiver\` function.`,
  );

/**
 * Waits for a promise while virtual time stands still. Resolves to false if the promise does not settle within
 * `replyTurns` turns. A turn with a pending operation of the platform restarts the count, at most `patientTurns` times.
 */
export async function withoutTime(
  promise: Promise<unknown>,
  pendingOperations: ReadonlySet<number>,
): Promise<boolean> {
  const state = { isSettled: false };
  const settle = () => {
    state.isSettled = true;
  };
  promise.then(settle, settle);
  let patience = patientTurns;
  for (let turns = 0; turns < replyTurns && !state.isSettled; turns += 1) {
    await nextTurn();
    if (pendingOperations.size > 0 && (patience -= 1) > 0) turns = 0;
  }
  return state.isSettled;
}
