import { createCommits, type Commits, type CommitsOptions, type Unwritten } from "./commits.js";
import { noJournal, type Journal } from "./journal.js";
import {
  mostAttempts,
  mostLines,
  type AttemptRecord,
  type CallRecord,
  type DeliveryRecord,
} from "./records.js";
import { changesOf, copiesOf, copyOf } from "./copies.js";
import {
  createTable,
  type CheckpointRecord,
  type Kind,
  type Kinds,
  type Table,
  type Tables,
} from "./table.js";
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
  /** Returns the `seq` of the newest delivery so far, or 0. */
  readonly newestSeq: () => number;
  /**
   * Runs `work`, which must be synchronous, and writes its changes before returning. If they cannot be written, they
   * are rolled back, in memory too, except that removed records stay removed. `work` does not run if earlier changes to
   * records in the file cannot be written.
   * @throws ApiError 500 if the file cannot be written; and any error of `work`, whose changes until then remain
   */
  readonly transaction: <Result>(work: () => Result) => Result;
  /** Records a call. While the file cannot be written, calls are dropped instead, because memory is limited. */
  readonly noteCall: (call: CallRecord) => void;
  /** Removes everything but the number of starts. */
  readonly clear: () => void;
  /** Copies all records, except checkpoints. */
  readonly copy: () => Pick<CheckpointRecord, "seq" | "copies">;
  /**
   * Replaces all records, except checkpoints and the number of starts, with those of a checkpoint, in the file too.
   * Listeners are not notified.
   * @throws ApiError 500 if the file cannot be written, in which case the records stay as they were
   */
  readonly restore: (checkpoint: Pick<CheckpointRecord, "seq" | "copies">) => void;
  /** The number of restored checkpoints. A request that began in an earlier era must not change records. */
  readonly era: () => number;
}

export interface StateOptions extends Partial<CommitsOptions> {
  readonly onChange?: ChangeListener | undefined;
  /** Receives each record whose changes were rolled back. The record may no longer exist. */
  readonly onTakenBack?: ChangeListener | undefined;
}

export function createState({
  journal = noJournal,
  onChange = () => {},
  afterCommit = () => {},
  onTakenBack = () => {},
  onError = () => {},
}: StateOptions = {}): State {
  const maps = newMaps();
  let seq = 0;
  let era = 0;
  const commits = createCommits({ journal, afterCommit, onError });
  const { change, commit, commitSoon, close } = commits;

  const isKind = (kind: string): kind is Kind => Object.hasOwn(maps, kind);

  const table = <Name extends Kind>(kind: Name) =>
    createTable<Kinds[Name]>(maps[kind], (id, value, isAdded) => {
      change(kind, id, value, isAdded);
      tally.note(kind, id);
      if (value !== undefined) onChange(kind, id);
    });
  const [calls, sends, events] = [table("call"), table("send"), table("event")];
  const deliveries = table("delivery");
  const tally = createTally({ calls, sends, events, deliveries });

  /** Restores a record from the file, as after a kill. The object stays the same, because running work refers to it. */
  const restore = (kind: Kind, id: string) => {
    const record = maps[kind].get(id) as unknown as Record<string, unknown>;
    const { body, attempts } = record;
    for (const name of Object.keys(record)) delete record[name];
    Object.assign(record, journal.read(kind, id), kind === "delivery" ? { body, attempts } : {});
    commits.forget(kind, id);
    tally.note(kind, id);
    onChange(kind, id);
  };

  const rollBack = ({ kind, id, isNew }: Unwritten) => {
    if (!isKind(kind)) return;
    if (isNew) tables[kind].drop(id);
    else restore(kind, id);
    onTakenBack(kind, id);
  };

  const trim = ({ id, attempts }: DeliveryRecord) => {
    for (const { n } of attempts.splice(0, attempts.length - mostAttempts))
      change("attempt", `${id} ${n}`, undefined);
  };

  load(journal, maps);
  for (const delivery of maps.delivery.values()) trim(delivery);
  for (const delivery of maps.delivery.values()) seq = Math.max(seq, delivery.seq);
  for (const kind of ["event", "delivery"] as const)
    for (const id of maps[kind].keys()) tally.note(kind, id);

  const tables: { readonly [Name in Kind]: Table<Kinds[Name]> } = {
    call: calls,
    send: sends,
    domain: table("domain"),
    endpoint: table("endpoint"),
    event: events,
    delivery: withParts(deliveries, change),
    idempotency: table("idempotency"),
    fault: table("fault"),
    setting: table("setting"),
    checkpoint: table("checkpoint"),
  };

  return {
    calls,
    sends,
    domains: tables.domain,
    endpoints: tables.endpoint,
    events,
    deliveries: tables.delivery,
    idempotency: tables.idempotency,
    faults: tables.fault,
    settings: tables.setting,
    checkpoints: tables.checkpoint,
    tally,
    addAttempt(delivery, attempt) {
      delivery.attempts.push(attempt);
      change("attempt", `${delivery.id} ${attempt.n}`, attempt, true);
      trim(delivery);
    },
    addLines(delivery, attempt, lines) {
      attempt.log = [...(attempt.log ?? []), ...lines].slice(-mostLines);
      change("attempt", `${delivery.id} ${attempt.n}`, attempt);
      deliveries.put(delivery);
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
        for (const change of commits.toRollBack(waiting)) rollBack(change);
        commits.endRollBack();
        throw error;
      }
      return result;
    },
    noteCall(call) {
      if (commits.isBehind()) calls.drop(call.id);
      else calls.put(call);
    },
    clear() {
      for (const records of Object.values(tables)) {
        // The number of starts is kept, so that ids never repeat, even after a reset.
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

type Maps = { readonly [Name in Kind]: Map<string, Kinds[Name]> };

const newMaps = (): Maps => ({
  call: new Map(),
  send: new Map(),
  domain: new Map(),
  endpoint: new Map(),
  event: new Map(),
  delivery: new Map(),
  idempotency: new Map(),
  fault: new Map(),
  setting: new Map(),
  checkpoint: new Map(),
});

interface Restored {
  readonly maps: Maps;
  readonly tables: { readonly [Name in Kind]: Table<Kinds[Name]> };
  readonly tally: ReturnType<typeof createTally>;
  readonly commits: Commits;
}

/** Replaces the records, first in the file. @throws ApiError 500 if the file cannot be written */
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
    // The kind determines the type.
    const table = tables[kind] as Pick<Table<never>, "replace">;
    table.replace(restored[kind] as never[]);
  }
  for (const kind of kinds) for (const id of maps[kind].keys()) tally.note(kind, id);
}

/** Extends the delivery table with the parts of a delivery that have separate records: its body and its attempts. */
const withParts = (
  deliveries: Table<DeliveryRecord>,
  change: Commits["change"],
): Table<DeliveryRecord> => ({
  ...deliveries,
  get size() {
    return deliveries.size;
  },
  put(delivery) {
    // The bytes never change, so they are written only once.
    if (!deliveries.get(delivery.id)) change("body", delivery.id, delivery.body, true);
    return deliveries.put(delivery);
  },
  drop(id) {
    for (const { n } of deliveries.get(id)?.attempts ?? [])
      change("attempt", `${id} ${n}`, undefined);
    change("body", id, undefined);
    deliveries.drop(id);
  },
});

function load(journal: Journal, maps: Maps): void {
  const bodies = new Map<string, Uint8Array>();
  const attempts: { readonly delivery: string; readonly value: AttemptRecord }[] = [];
  for (const { kind, id, value } of journal.load()) {
    if (kind === "body") bodies.set(id, value as Uint8Array);
    else if (kind === "attempt") {
      attempts.push({ delivery: id.split(" ")[0] ?? "", value: value as AttemptRecord });
    } else maps[kind as Kind]?.set(id, value as never);
  }
  for (const [id, delivery] of maps.delivery) {
    const body = bodies.get(id) ?? new Uint8Array();
    maps.delivery.set(id, { ...delivery, body, attempts: [] });
  }
  for (const { delivery, value } of attempts.toSorted((a, b) => a.value.n - b.value.n)) {
    maps.delivery.get(delivery)?.attempts.push(value);
  }
}
