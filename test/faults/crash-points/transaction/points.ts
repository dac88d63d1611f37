/** The signal that a process sends itself at a point, by fault. */
export const signals = { dies: "SIGKILL", freezes: "SIGSTOP" } as const;

export type Fault = keyof typeof signals;

/** The place of a run's effect: inside or outside `store.transaction`. */
export type Place = "inside" | "outside";

interface Result {
  /** The number of effects if the process dies. `freezes` is the number if it freezes. */
  readonly dies: 1 | 2;
  readonly freezes: 1 | 2;
  /** The outcome of the next attempt, for which another process returns 200. */
  readonly next: "processed" | "duplicate";
}

/**
 * The results if a process dies, or freezes past its lease, at each step of a run that writes its effect inside or
 * outside `transaction`. Outside, the transaction's steps do not exist.
 */
const results = {
  claimed: {
    outside: { dies: 1, freezes: 2, next: "processed" },
    inside: { dies: 1, freezes: 1, next: "processed" },
  },
  begun: { inside: { dies: 1, freezes: 1, next: "processed" } },
  "effect written": {
    outside: { dies: 2, freezes: 2, next: "processed" },
    inside: { dies: 1, freezes: 1, next: "processed" },
  },
  "COMMIT sent": { inside: { dies: 1, freezes: 1, next: "duplicate" } },
  committed: { inside: { dies: 1, freezes: 1, next: "duplicate" } },
  "before complete": {
    outside: { dies: 2, freezes: 2, next: "processed" },
    inside: { dies: 1, freezes: 1, next: "duplicate" },
  },
  "after complete": {
    outside: { dies: 1, freezes: 1, next: "duplicate" },
    inside: { dies: 1, freezes: 1, next: "duplicate" },
  },
} as const satisfies Readonly<Record<string, { readonly [place in Place]?: Result }>>;

export type TransactionPoint = keyof typeof results;

export const transactionPoints = Object.keys(results) as readonly TransactionPoint[];

/** Returns the documented result, or undefined if the point does not exist in this place. */
export function resultAt(point: TransactionPoint, place: Place): Result | undefined {
  const places: { readonly [place in Place]?: Result } = results[point];
  return places[place];
}
