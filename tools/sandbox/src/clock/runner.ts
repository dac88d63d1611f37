import type { DueItem } from "../clock.js";
import { createHeap } from "../lib/heap.js";
import { clearImmediate, clearTimeout, realNow, setImmediate, setTimeout } from "../lib/timers.js";
import { longestTimer } from "../lib/units.js";
import type { Time } from "./time.js";

interface Entry {
  readonly time: number;
  readonly item: DueItem;
  readonly run: () => unknown;
}

/** The maximum number of entries that a turn of the event loop starts, so that 10,000 due items do not block it. */
const batch = 25;

/**
 * The time, in milliseconds, after which a turn starts no more entries. It is needed because entries vary in cost: the
 * step of one send may create deliveries to a hundred endpoints.
 */
const longestTurn = 5;

/**
 * Runs entries when they are due. The runner is in one of four states:
 *
 * - **idle**: nothing is due. A timer waits for the earliest entry, unless time stands still. `arm` finds an entry due
 *   → firing.
 * - **firing**: a turn of the event loop is scheduled. It starts at most `batch` entries, for at most `longestTurn`,
 *   then calls `arm`, which leads to the next turn or to idle.
 * - **awaiting**: `waitUntilQuiet` was called, and a check is scheduled in the next turn, because work that has just
 *   finished may have scheduled more. If the check finds nothing due or running → idle, and the promise resolves;
 *   otherwise → patient.
 * - **patient**: the check found work, and a timer of `patienceMs` is running. An entry finishes, or is parked because
 *   it waits for the clock → awaiting. The timer fires → the entries in `running` move to `leftRunning`, and the
 *   promise resolves → idle.
 *
 * Turns of the event loop start due entries in the last two states too. These two only describe what a moved clock is
 * waiting for.
 */
export function createRunner(time: Time, patienceMs = 1_000) {
  const heap = createHeap<Entry>((a, b) => a.time - b.time);
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const running = new Set<Entry>();
  const leftRunning = new Set<Entry>();
  /** Schedules a check. Defined only while a `waitUntilQuiet` call is pending. */
  let scheduleCheck: (() => void) | undefined;
  let closed = false;

  const isDue = () => (heap.peek()?.time ?? Infinity) <= time.now();

  /**
   * Schedules a turn that starts the due entries, or sets the timer for the next one. Call it whenever the time or its
   * rate has changed.
   */
  const arm = () => {
    clearTimeout(timer);
    const next = heap.peek()?.time;
    if (next === undefined || closed) return;
    if (isDue()) turn ??= setImmediate(fire);
    else if (time.rate > 0) {
      timer = setTimeout(arm, Math.min(Math.ceil((next - time.exact()) / time.rate), longestTimer));
      // The timer does not keep the process alive, so that a test that forgets to close its sandbox can exit.
      timer.unref();
    }
  };

  const fire = () => {
    turn = undefined;
    const end = realNow() + longestTurn;
    for (let started = 0; started < batch && isDue(); started += 1) {
      if (closed || realNow() > end) break;
      const entry = heap.pop();
      if (entry) start(entry);
    }
    arm();
  };

  const start = (entry: Entry) => {
    running.add(entry);
    // The attempt that waited for this delay continues, so it counts as running again.
    if (entry.item.kind === "delay") moveOne(entry.item.id, leftRunning, running);
    const end = () => {
      leftRunning.delete(entry);
      if (running.delete(entry)) scheduleCheck?.();
    };
    // Failures are ignored here: due work reports them itself, and they must not stop the process or the clock.
    const work = async () => entry.run();
    work().then(end, end);
  };

  const park = (id: string) => {
    moveOne(id, running, leftRunning);
    scheduleCheck?.();
  };

  /** Resolves when nothing is due or running, when nothing has finished for `patienceMs`, or after `close`. */
  const waitUntilQuiet = () =>
    new Promise<void>((resolve) => {
      let patience: NodeJS.Timeout | undefined;
      let check: NodeJS.Immediate | undefined;
      const stopWaiting = () => {
        for (const entry of running) leftRunning.add(entry);
        running.clear();
        scheduleCheck = undefined;
        resolve();
      };
      scheduleCheck = () => {
        clearTimeout(patience);
        clearImmediate(check);
        check = setImmediate(() => {
          if (closed || (running.size === 0 && !isDue())) stopWaiting();
          else patience = setTimeout(stopWaiting, patienceMs);
        });
      };
      scheduleCheck();
    });

  return {
    /** Returns the entry that is due next. */
    next: heap.peek,
    add(entry: Entry) {
      if (entry.item.kind === "delay") park(entry.item.id);
      return heap.push(entry);
    },
    park,
    remove: heap.removeAll,
    arm,
    waitUntilQuiet,
    isClosed: () => closed,
    close() {
      closed = true;
      clearTimeout(timer);
      clearImmediate(turn);
      scheduleCheck?.();
    },
  };
}

/**
 * Moves one entry of an item from one set to the other, but never a delay. It does not matter which of the item's other
 * entries is moved.
 */
function moveOne(id: string, from: Set<Entry>, to: Set<Entry>): void {
  for (const entry of from) {
    if (entry.item.id !== id || entry.item.kind === "delay") continue;
    from.delete(entry);
    to.add(entry);
    return;
  }
}
