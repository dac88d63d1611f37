import { faultKinds, writeFaults, type Fault } from "../faults.js";
import type { History } from "../history.js";
import { nameOf, type Deviation } from "../judge/judge.js";
import { linesOf } from "../report/lines.js";
import type { Cell } from "../report/report.js";

/** A deviation, and the history in which it was found. */
export interface Found {
  readonly history: History;
  readonly deviation: Deviation;
}

/** Collects the deviations of all histories: the shortest history for each name, and the cells of the grid. */
export class Collection {
  readonly #undisturbed: History;
  readonly #shortest = new Map<string, Found>();
  readonly #places = new Map<string, string[]>();
  readonly cells: Cell[] = [];

  constructor(undisturbed: History) {
    this.#undisturbed = undisturbed;
  }

  add(history: History, deviations: readonly Deviation[]): void {
    const names = [...new Set(deviations.map(nameOf))];
    const [fault] = history.faults;
    if (history.faults.length === 1 && fault) this.#addCell(history, fault, names, deviations);
    for (const deviation of deviations) {
      const name = nameOf(deviation);
      const best = this.#shortest.get(name);
      if (!best || isShorter({ history, deviation }, best)) {
        this.#shortest.set(name, { history, deviation });
      }
    }
  }

  #addCell(
    history: History,
    fault: Fault,
    findings: readonly string[],
    deviations: readonly Deviation[],
  ): void {
    const isReached = history.notReached === undefined;
    const lines = linesOf(history, this.#undisturbed, deviations[0]?.effect);
    this.cells.push({ ...fault, findings, isReached, lines });
    for (const name of findings) {
      this.#places.set(name, [...this.placesOf(name), writeFaults([fault])]);
    }
  }

  /** The names of all deviations. */
  get names(): readonly string[] {
    return [...this.#shortest.keys()];
  }

  /** Each name with the shortest history in which the deviation was found. */
  get shortest(): Iterable<readonly [string, Found]> {
    return this.#shortest;
  }

  /** Returns the single faults that lead to the deviation with this name. */
  placesOf(name: string): readonly string[] {
    return this.#places.get(name) ?? [];
  }
}

/** Returns whether to report `left`, not `right`: it has fewer faults, or else earlier kinds, or else fewer steps. */
function isShorter(left: Found, right: Found): boolean {
  const [faults, others] = [left.history.faults, right.history.faults];
  if (faults.length !== others.length) return faults.length < others.length;
  for (const [index, { kind }] of faults.entries()) {
    const difference = faultKinds.indexOf(kind) - faultKinds.indexOf(others[index]?.kind ?? kind);
    if (difference !== 0) return difference < 0;
  }
  return left.history.steps.length < right.history.steps.length;
}
