import type { Settings } from "./chaos.js";

/** How the processes of a run differ from correct ones. */
export interface SqliteChaos {
  /** Whether events have keys. Default true. */
  readonly inOrder?: boolean;
  /** Whether effects are written in `store.transaction`. Default true. */
  readonly inTransaction?: boolean;
  /** The driver of the processes. Default `"@photostructure/sqlite"`. */
  readonly driver?: "@photostructure/sqlite" | "node:sqlite";
  /** Whether the file is vacuumed, indexed again and copied as the run progresses. Default false. */
  readonly isKept?: boolean;
}

/** The settings of one process. */
export interface SqliteSettings extends Settings, Required<Omit<SqliteChaos, "isKept">> {
  readonly file: string;
}

/** Returns whether an event ends each process that runs it. */
export const isDeadly = (index: number): boolean => index === 33 || index === 77;
/** Returns whether a handler throws for an event. */
export const isPoison = (index: number): boolean => index % 50 === 17;
