import { createCommits, type Commits, type CommitsOptions, type Unwritten } from "./commits.js";
import { noJournal } from "./journal.js";
import {
  mostAttempts,
  mostLines,
  type AttemptRecord,
  type CallRecord,
  type DeliveryRecord,
} from "./records.js";
import { changesOf, copiesOf, copyOf } from "./copies.js";
import { load } from "./load.js";
import type { CheckpointRecord, Kind, Table, Tables } from "./table.js";
import { createTables, named, type Maps, type TablesByKind } from "./tables.js";
import { createTally, type Tally } from "./tally.js";

export type ChangeListener = (kind: Kind, id: string) => void;

/**
 * All records in memory, and the changes that the journal does not have yet. Records are read and written
 * synchronously; `commit` then makes the changes durable.
 */
export interface State extends Tables, Pick<Commits, "commit" | "commitSoon" | "close"> {
  readonly tally: Tally;
  readonly addAttempt: (delivery: DeliveryRecord, attempt: AttemptRecord) => void;
  /** Adds lines of the receiver's log to an attempt. The last {@link mostLines} are kept. */
  readonly addLines: (
    delivery: DeliveryRecord,
    attempt: AttemptRecord,
    lines: readonly string[],
  ) => void;
  readonly nextSeq: () => number;
  /** Returns the `seq` of the newest delivery so far, or 0 if there was none. */
  readonly newestSeq: () => number;
  /**
   * Runs `work`, which must be synchronous, and writes its changes before returning. If they cannot be written, they
   * are rolled back, in memory too. Two kinds of changes remain: removals, and changes to records whose creation was
   * still unwritten before `work`. `work` does not run if earlier changes to records in the file cannot be written.
   * @throws ApiError 500 if the file cannot be written; and any error of `work`, whose changes until then remain
   */
  readonly transaction: <Result>(work: () => Result) => Result;
  /**
   * Records a call. While the file cannot be written, drops it instead, because unwritten calls would fill the memory.
   */
  readonly noteCall: (call: CallRecord) => void;
  /** Removes all records except the number of starts. */
  readonly clear: () => void;
  /** Copies all records, except checkpoints. */
  readonly copy: () => Pick<CheckpointRecord, "seq" | "copies">;
  /**
   * Replaces all records, except checkpoints and the number of starts, with those of a checkpoint, in the file too.
   * Listeners are not notified.
   * @throws ApiError 500 if the file cannot be written, in which case the records stay as they were
   */
  readonly restore: (checkpoint: Pick<CheckpointRecord, "seq" | "copies">) => void;
  /** Returns the number of rewinds since the start. A request that began in an earlier era must not change records. */
  readonly era: () => number;
}

export interface StateOptions extends Partial<CommitsOptions> {
  readonly onChange?: ChangeListener | undefined;
  /** Receives the kind and id of each record whose changes were rolled back. The record may no longer exist. */
  readonly onTakenBack?: ChangeListener | undefined;
}

export function createState({
  journal = noJournal,
  onChange = () => {},
  afterCommit = () => {},
  onTakenBack = () => {},
  onError = () => {},
}: StateOptions = {}): State {
  const maps = load(journal);
  let seq = 0;
  let era = 0;
  const commits = createCommits({ journal, afterCommit, onError });
  const { change, commit, commitSoon, close } = commits;

  /** Notifies the tally of a record that has changed in memory, and the listener too unless the record was removed. */
  const noteChange = (kind: Kind, id: string) => {
    tally.note(kind, id);
    if (maps[kind].has(id)) onChange(kind, id);
  };
  const tables = createTables(maps, change, noteChange);
  const state = named(tables);
  const tally = createTally(state);

  /** Rolls a change back: drops a new record, and restores any other from the file. */
  const rollBack = ({ kind, id, isNew }: Unwritten) => {
    if (!isKind(maps, kind)) return;
    if (isNew) tables[kind].drop(id);
    else {
      restoreRecord(maps[kind].get(id) as object, journal.read(kind, id) as object, kind);
      commits.forget(kind, id);
      noteChange(kind, id);
    }
    onTakenBack(kind, id);
  };

  /** Drops a delivery's oldest attempts if it has more than {@link mostAttempts}. */
  const trim = ({ id, attempts }: DeliveryRecord) => {
    for (const { n } of attempts.splice(0, attempts.length - mostAttempts))
      change("attempt", `${id} ${n}`, undefined);
  };

  for (const delivery of maps.delivery.values()) {
    trim(delivery);
    seq = Math.max(seq, delivery.seq);
  }
  for (const kind of ["event", "delivery"] as const)
    for (const id of maps[kind].keys()) tally.note(kind, id);

  return {
    ...state,
    tally,
    addAttempt(delivery, attempt) {
      delivery.attempts.push(attempt);
      change("attempt", `${delivery.id} ${attempt.n}`, attempt, true);
      trim(delivery);
    },
    addLines(delivery, attempt, lines) {
      attempt.log = [...(attempt.log ?? []), ...lines].slice(-mostLines);
      change("attempt", `${delivery.id} ${attempt.n}`, attempt);
      state.deliveries.put(delivery);
    },
    nextSeq: () => (seq += 1),
    newestSeq: () => seq,
    commit,
    commitSoon,
    transaction(work) {
      const waiting = commits.begin();
      const result = work();
      try {
        commit();
      } catch (error) {
        for (const unwritten of commits.toRollBack(waiting)) rollBack(unwritten);
        commits.endRollBack();
        throw error;
      }
      return result;
    },
    noteCall(call) {
      if (commits.isBehind()) state.calls.drop(call.id);
      else state.calls.put(call);
    },
    clear() {
      for (const records of Object.values(tables)) {
        // The number of starts is kept, because it is part of the seed: without it, the next start would repeat ids.
        for (const { id } of records.all()) if (id !== "starts") records.drop(id);
      }
    },
    copy: () => ({ seq, copies: copiesOf(maps) }),
    restore(checkpoint) {
      restoreTables({ maps, tables, tally, commits }, checkpoint.copies);
      seq = checkpoint.seq;
      era += 1;
    },
    era: () => era,
    close,
  };
}

/** Whether records of a kind have a table. The parts of a delivery have records in the journal, but no table. */
const isKind = (maps: Maps, kind: string): kind is Kind => Object.hasOwn(maps, kind);

/**
 * Restores a record's members from the file. The object stays the same, because running work refers to it. A delivery
 * keeps its body and its attempts, which its record in the file does not contain.
 */
function restoreRecord(record: object, written: object, kind: Kind): void {
  const { body, attempts } = record as Partial<DeliveryRecord>;
  for (const name of Object.keys(record)) Reflect.deleteProperty(record, name);
  Object.assign(record, written, kind === "delivery" ? { body, attempts } : {});
}

interface Restored {
  readonly maps: Maps;
  readonly tables: TablesByKind;
  readonly tally: ReturnType<typeof createTally>;
  readonly commits: Commits;
}

/** Replaces the records, first in the file, then in memory. @throws ApiError 500 if the file cannot be written */
function restoreTables(
  { maps, tables, tally, commits }: Restored,
  copies: CheckpointRecord["copies"],
): void {
  const starts = maps.setting.get("starts");
  const all = copyOf(copies);
  const setting = all.setting.filter(({ id }) => id !== "starts");
  const restored = { ...all, setting: starts ? [...setting, starts] : setting };
  commits.replace(changesOf(restored));
  const kinds = Object.keys(restored) as (keyof typeof restored)[];
  for (const kind of kinds) {
    const ids = [...maps[kind].keys()];
    tables[kind].replace([]);
    for (const id of ids) tally.note(kind, id);
  }
  for (const kind of kinds) {
    // The casts are safe, because the table and the records are of one kind, which the types cannot express.
    const table = tables[kind] as Pick<Table<never>, "replace">;
    table.replace(restored[kind] as never[]);
  }
  for (const kind of kinds) for (const id of maps[kind].keys()) tally.note(kind, id);
}
