/** The signals with which a process strikes itself at a point, by fault. */
export const signals = { dies: "SIGKILL", freezes: "SIGSTOP" } as const;

export type Fault = keyof typeof signals;

/** The place where a run writes its effect. */
export type Place = "inside" | "outside";

interface Result {
  /** The number of effects, by the fault. */
  readonly dies: 1 | 2;
  readonly freezes: 1 | 2;
  /** The outcome of the attempt that got 200 from another process. */
  readonly next: "processed" | "duplicate";
}

/**
 * The result of a process that dies, or freezes past its lease, at each step of a run with its effect
 * inside or outside of `transaction`. Outside, the transaction's steps do not exist.
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

/** Returns the documented result, if the point exists in this place. */
export function resultAt(point: TransactionPoint, place: Place): Result | undefined {
  const places: { readonly [place in Place]?: Result } = results[point];
  return places[place];
}
