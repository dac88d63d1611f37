/** One record of a kind, as plain data; undefined removes it. */
export interface Change {
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
}

/** A place that keeps records when the process ends. */
export interface Journal {
  readonly load: () => Iterable<Change>;
  /** The record as it was written last; undefined if it is not there. */
  readonly read: (kind: string, id: string) => unknown;
  /** Writes all changes or none, before it returns. */
  readonly write: (changes: Iterable<Change>) => void;
  readonly close: () => void;
}

export const noJournal: Journal = {
  load: () => [],
  read: () => undefined,
  write: () => {},
  close: () => {},
};
