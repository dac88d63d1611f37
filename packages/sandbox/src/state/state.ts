import { ApiError } from "../errors.js";
import { clearImmediate, setImmediate } from "../lib/timers.js";
import { noJournal, type Change, type Journal } from "./journal.js";
import type { AttemptRecord, DeliveryRecord } from "./records.js";
import type { Kind, Kinds, Table, Tables } from "./table.js";
import { createTally, type Tally } from "./tally.js";

export type ChangeListener = (kind: Kind, id: string) => void;

/**
 * All records, in memory, and the changes that the journal has not seen. Everything reads and writes
 * records synchronously; `commit` then makes them survive the process.
 */
export interface State extends Tables {
  readonly tally: Tally;
  readonly addAttempt: (delivery: DeliveryRecord, attempt: AttemptRecord) => void;
  readonly nextSeq: () => number;
  /**
   * Writes all changes.
   * @throws ApiError 500 if they cannot be written; the next commit tries again
   */
  readonly commit: () => void;
  /** Commits in the next turn, with whatever else has changed by then. */
  readonly commitSoon: () => void;
  /** Removes everything but the number of starts. */
  readonly clear: () => void;
  readonly close: () => void;
}

export interface StateOptions {
  readonly journal?: Journal | undefined;
  readonly onChange?: ChangeListener | undefined;
  /** Receives what each commit has written. */
  readonly afterCommit?: ((written: readonly Change[]) => void) | undefined;
  /** Receives the error of the first commit that fails, until one succeeds. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export function createState({
  journal = noJournal,
  onChange = () => {},
  afterCommit = () => {},
  onError = () => {},
}: StateOptions = {}): State {
  const maps: { readonly [Name in Kind]: Map<string, Kinds[Name]> } = {
    call: new Map(),
    send: new Map(),
    domain: new Map(),
    endpoint: new Map(),
    event: new Map(),
    delivery: new Map(),
    idempotency: new Map(),
    fault: new Map(),
    setting: new Map(),
  };
  const changes = new Map<string, Change>();
  let seq = 0;
  let pending: NodeJS.Immediate | undefined;
  let isClosed = false;
  /** The last commit has failed. */
  let isFailing = false;

  const change = (kind: string, id: string, value: unknown) =>
    changes.set(`${kind} ${id}`, { kind, id, value });

  const table = <Name extends Kind>(kind: Name): Table<Kinds[Name]> => {
    const map = maps[kind];
    /** Kept while records are only added: most of what is shown is the newest. */
    let list: Kinds[Name][] | undefined;
    return {
      get size() {
        return map.size;
      },
      get: (id) => map.get(id),
      all: () => map.values(),
      list: () => (list ??= Array.from(map.values())),
      put(item) {
        const known = map.get(item.id);
        if (known === undefined) list?.push(item);
        else if (known !== item) list = undefined;
        map.set(item.id, item);
        change(kind, item.id, item);
        tally.note(kind, item.id);
        onChange(kind, item.id);
        return item;
      },
      drop(id) {
        if (!map.delete(id)) return;
        list = undefined;
        change(kind, id, undefined);
        tally.note(kind, id);
      },
    };
  };
  const [calls, sends, events] = [table("call"), table("send"), table("event")];
  const deliveries = table("delivery");
  const tally = createTally({ calls, sends, events, deliveries });

  const commit = () => {
    clearImmediate(pending);
    pending = undefined;
    // A request may end after the sandbox has been closed.
    if (changes.size === 0 || isClosed) return;
    const written = Array.from(changes.values());
    try {
      journal.write(stored(written));
    } catch (error) {
      // Once, not for each request on a full disk.
      if (!isFailing) onError(error);
      isFailing = true;
      throw new ApiError(500, "internal_error", "The data file could not be written.");
    }
    isFailing = false;
    changes.clear();
    afterCommit(written);
  };

  load(journal, maps);
  for (const delivery of maps.delivery.values()) seq = Math.max(seq, delivery.seq);
  for (const kind of ["event", "delivery"] as const)
    for (const id of maps[kind].keys()) tally.note(kind, id);

  const state: State = {
    calls,
    sends,
    domains: table("domain"),
    endpoints: table("endpoint"),
    events,
    deliveries: {
      ...deliveries,
      get size() {
        return deliveries.size;
      },
      put(delivery) {
        // Bytes never change: they are written once.
        if (!deliveries.get(delivery.id)) change("body", delivery.id, delivery.body);
        return deliveries.put(delivery);
      },
      drop(id) {
        const count = deliveries.get(id)?.attempts.length ?? 0;
        for (let n = 1; n <= count; n += 1) change("attempt", `${id} ${n}`, undefined);
        change("body", id, undefined);
        deliveries.drop(id);
      },
    },
    idempotency: table("idempotency"),
    faults: table("fault"),
    settings: table("setting"),
    tally,
    addAttempt(delivery, attempt) {
      delivery.attempts.push(attempt);
      change("attempt", `${delivery.id} ${attempt.n}`, attempt);
    },
    nextSeq: () => (seq += 1),
    commit,
    commitSoon() {
      pending ??= setImmediate(() => {
        pending = undefined;
        try {
          commit();
        } catch {
          // It has been reported, and the next commit tries again.
        }
      });
    },
    clear() {
      for (const records of Object.values(state)) {
        if (typeof records === "function" || !("all" in records)) continue;
        // Ids never repeat, not even after a reset.
        for (const { id } of records.all()) if (id !== "starts") records.drop(id);
      }
    },
    close() {
      if (isClosed) return;
      try {
        commit();
      } finally {
        isClosed = true;
        journal.close();
      }
    },
  };
  return state;
}

/** What is written of records: the parts of a delivery that grow or never change have records of their own. */
function* stored(changes: Iterable<Change>): Iterable<Change> {
  for (const change of changes) {
    if (change.kind !== "delivery" || change.value === undefined) yield change;
    else {
      const { body: _body, attempts: _attempts, ...value } = change.value as DeliveryRecord;
      yield { ...change, value };
    }
  }
}

function load(journal: Journal, maps: { readonly [Name in Kind]: Map<string, Kinds[Name]> }): void {
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
