import { pause } from "../pause.js";

/** The interval at which `until` checks its condition, in milliseconds. */
const pollMs = 20;

/** The handler of a case, with a record of its runs. */
export class Runs {
  readonly #ids: unknown[] = [];
  #running = 0;
  #mostConcurrent = 0;
  #succeeded = 0;

  /** Called for each run, with the run's number from 1. Cases replace it. If it throws or rejects, the run fails. */
  behavior: (run: number) => unknown = () => {};

  /** The handler that the receiver calls. */
  readonly handler = async (event: unknown): Promise<void> => {
    this.#ids.push(eventIdOf(event));
    this.#running += 1;
    this.#mostConcurrent = Math.max(this.#mostConcurrent, this.#running);
    try {
      await this.behavior(this.#ids.length);
      this.#succeeded += 1;
    } finally {
      this.#running -= 1;
    }
  };

  /** Waits until a condition about the runs holds, for `ms` milliseconds at most. */
  async until(holds: () => boolean, ms: number): Promise<void> {
    for (let left = ms; left > 0 && !holds(); left -= pollMs) await pause(pollMs);
  }

  get count(): number {
    return this.#ids.length;
  }

  /** Returns the number of runs for the event with this id. */
  of(eventId: string): number {
    return this.#ids.filter((id) => id === eventId).length;
  }

  get succeeded(): number {
    return this.#succeeded;
  }

  get mostConcurrent(): number {
    return this.#mostConcurrent;
  }
}

interface Identified {
  readonly event_id?: unknown;
  /** The events of a sender that sends lists. */
  readonly events?: readonly Identified[];
}

/** Returns the id of a parsed event or, if the sender sends lists, of its first event. Undefined if there is none. */
export function eventIdOf(event: unknown): unknown {
  const { event_id, events } = Object(event) as Identified;
  return event_id ?? events?.[0]?.event_id;
}
