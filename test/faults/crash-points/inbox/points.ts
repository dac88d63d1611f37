/** The place of a run's effect: inside or outside `store.transaction`. */
export type Place = "inside" | "outside";

interface Result {
  /** The process that dies: the one that accepts the delivery, or the one that runs its job. */
  readonly dies: "acceptor" | "worker";
  /** The responses to the sender. */
  readonly sender: readonly string[];
  /** The outcomes of the runs of the next worker. */
  readonly next: readonly ("processed" | "duplicate")[];
  /** The number of effects, by place. A point without an outcome outside exists only inside. */
  readonly outside?: 1 | 2;
  readonly inside: 1;
}

const lost = ["no response", "200 enqueued"];
const stored = ["200 enqueued"];

/** The results if a process dies at each step of a delivery whose handler runs from a queue. */
const results = {
  "before it is stored": {
    dies: "acceptor",
    sender: lost,
    next: ["processed"],
    outside: 1,
    inside: 1,
  },
  stored: { dies: "acceptor", sender: lost, next: ["processed"], outside: 1, inside: 1 },
  responded: { dies: "acceptor", sender: stored, next: ["processed"], outside: 1, inside: 1 },
  fetched: { dies: "worker", sender: stored, next: ["processed"], outside: 1, inside: 1 },
  claimed: { dies: "worker", sender: stored, next: ["processed"], outside: 1, inside: 1 },
  "effect written": {
    dies: "worker",
    sender: stored,
    next: ["processed"],
    outside: 2,
    inside: 1,
  },
  committed: { dies: "worker", sender: stored, next: ["duplicate"], inside: 1 },
  settled: { dies: "worker", sender: stored, next: [], outside: 1, inside: 1 },
} as const satisfies Readonly<Record<string, Result>>;

export type InboxPoint = keyof typeof results;

export const inboxPoints = Object.keys(results) as readonly InboxPoint[];

/** Returns the documented result. */
export const inboxResultAt = (point: InboxPoint): Result => results[point];
