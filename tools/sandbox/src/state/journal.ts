/** A change to a record: its new value, as plain data. An undefined value removes the record. */
export interface Change {
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
}

/** Storage for records that outlives the process. */
export interface Journal {
  readonly load: () => Iterable<Change>;
  /** Returns the record as it was last written, or undefined if there is none. */
  readonly read: (kind: string, id: string) => unknown;
  /** Writes either all changes or none, synchronously. */
  readonly write: (changes: Iterable<Change>) => void;
  /**
   * Replaces all records, except checkpoints. If that fails, changes nothing. `load` later returns the records in this
   * order.
   */
  readonly replace: (records: Iterable<Change>) => void;
  readonly close: () => void;
}

export const noJournal: Journal = {
  load: () => [],
  read: () => undefined,
  write: () => {},
  replace: () => {},
  close: () => {},
};
