import { checkRange } from "./check.js";
import type { Clock } from "./clock.js";
import type { Visit } from "./visit.js";

/** What has been begun and has not come to its end. */
export class UnderWay {
  readonly #works = new Map<Promise<unknown>, Visit>();

  /** Keeps `work`, which never rejects, until it settles. */
  add(visit: Visit, work: Promise<unknown>): void {
    this.#works.set(work, visit);
    void work.finally(() => this.#works.delete(work));
  }

  /** Waits until nothing is left, or for `deadlineMs`; answers how many deliveries are left. */
  async drain(clock: Clock, deadlineMs: number): Promise<number> {
    checkRange({ deadlineMs }, 0, 2_147_483_647);
    const deadline = { passed: false };
    // Everything else here lets a process exit that has nothing left to do; who drains wants to stay.
    const awake = setInterval(() => {}, 60_000);
    let cancel: (() => void) | undefined;
    const passed = new Promise<void>((resolve) => {
      cancel = clock.after(deadlineMs, () => {
        deadline.passed = true;
        resolve();
      });
    });
    // What settles may leave more work behind, so look again.
    while (this.#works.size > 0 && !deadline.passed) {
      await Promise.race([passed, Promise.all(this.#works.keys())]);
    }
    cancel?.();
    clearInterval(awake);
    return new Set(this.#works.values()).size;
  }
}
