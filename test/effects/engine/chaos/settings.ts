/** The ways to write a row and to make a charge: two that are correct, and three controls. */
export type Variant = "pg-boss" | "Graphile Worker" | "without db" | "send after" | "charge first";

/** The points at which a process may be killed. Each run reaches only those of its variant. */
export const points = ["row written", "job stored", "committed", "job fetched", "charged"] as const;

export type Point = (typeof points)[number];

/** The settings of one process. */
export interface Settings {
  readonly role: "web" | "worker";
  readonly variant: Variant;
  readonly connectionString: string;
  /** The URL of the judge. */
  readonly judge: string;
  /** The statement that stores a job of Graphile Worker. */
  readonly addJob: string;
}
