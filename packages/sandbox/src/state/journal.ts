/** One record of a kind, as plain data; undefined removes it. */
export interface Change {
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
}

/** Where records survive the process. */
export interface Journal {
  readonly load: () => Iterable<Change>;
  /** Writes all changes or none, before it returns. */
  readonly write: (changes: Iterable<Change>) => void;
  readonly close: () => void;
}

export const noJournal: Journal = { load: () => [], write: () => {}, close: () => {} };
