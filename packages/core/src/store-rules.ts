/**
 * The rules of `DeliveryStore` as a pure function, for stores that read and write a record in one atomic step, and
 * parsers for the replies of servers that apply these rules themselves.
 */
import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  RecordState,
  ReleaseRequest,
} from "./store.js";

/** A record as a store keeps it. Times are in milliseconds of the store's clock. */
export interface StoredRecord {
  readonly state: RecordState;
  /** The token of the claim that holds the record. Only `running` records have one. */
  readonly token?: string | null | undefined;
  readonly lineage?: string | null | undefined;
  /** When the lease ends; 0 unless the record is `running`. */
  readonly leaseEndsAt: number;
  /** When the retention ends. From then on, the record counts as absent. */
  readonly expiresAt: number;
  readonly fence: number;
  readonly run: number;
}

/** The result of a call, and the record to write: `null` removes it, undefined leaves it as it is. */
export type Next<Result> = readonly [result: Result, record?: StoredRecord | null | undefined];

/** The calls of a store that change records, each with its request and its result. */
interface Calls {
  readonly claim: [request: ClaimRequest, result: ClaimResult];
  readonly complete: [request: ClaimRequest, result: CompleteResult];
  readonly release: [request: ReleaseRequest, result: boolean];
  readonly extend: [request: ClaimRequest, result: boolean];
  readonly forget: [request: undefined, result: boolean];
}

/** A function that finds a record, applies `next`, writes the new record and returns the result. */
export type Change<Key> = <Call extends keyof Calls>(
  call: Call,
  key: Key,
  request: Calls[Call][0],
) => Calls[Call][1];

/**
 * The rule of a call. `known` is the record unless it has expired, `own` is the same record if the caller's claim
 * holds it, and `leased` is the same record if its lease is alive.
 */
type Rule<Request, Result> = (
  request: Request,
  now: number,
  own: StoredRecord | undefined,
  known: StoredRecord | undefined,
  leased: StoredRecord | undefined,
) => Next<Result>;

const idle = { token: null, leaseEndsAt: 0 };

/**
 * Returns a `done` record. Its `fence` and `run` are 0, because it is never claimed again.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { doneRecord } from "@svc-webhooks/core/store-rules";
 *
 * assert.equal(doneRecord(undefined, Date.now() + 60_000).state, "done");
 * ```
 */
export const doneRecord = (lineage: StoredRecord["lineage"], expiresAt: number): StoredRecord => ({
  ...idle,
  state: "done",
  lineage,
  expiresAt,
  fence: 0,
  run: 0,
});

const rules: { readonly [Call in keyof Calls]: Rule<Calls[Call][0], Calls[Call][1]> } = {
  claim({ token, leaseMs, retainMs, lineage, takeParked }, now, own, known, leased) {
    const state = known?.state;
    if (state === "done" || (state === "parked" && !takeParked)) {
      return [{ status: state, lineage: known?.lineage ?? undefined }];
    }
    const leaseEndsAt = now + leaseMs;
    if (leased) {
      const { fence, run, leaseEndsAt: endsAt } = leased;
      return [
        own
          ? { status: "claimed", fence, run }
          : { status: "busy", leaseLeftMs: Math.min(endsAt, leaseEndsAt) - now },
        // Limits the lease to `leaseMs` from now. If the clock was set back, the lease would otherwise last too long.
        leaseEndsAt < endsAt ? { ...leased, leaseEndsAt } : undefined,
      ];
    }
    const fence = Math.max((known?.fence ?? 0) + 1, Math.floor(now));
    const run = state === "parked" ? 1 : (known?.run ?? 0) + 1;
    return [
      { status: "claimed", fence, run, takenOver: state === "running" },
      { state: "running", token, lineage, leaseEndsAt, expiresAt: now + retainMs, fence, run },
    ];
  },

  complete({ retainMs, lineage }, now, own, known) {
    const isDone = known?.state === "done";
    return [
      !known ? "restored" : isDone ? "already" : own ? "owner" : "late",
      doneRecord(isDone ? known.lineage : lineage, now + retainMs),
    ];
  },

  release({ retainMs, to }, now, own) {
    if (!own) return [false];
    const state = to === "parked" ? to : "failed";
    const run = own.run - (to === "unused" ? 1 : 0);
    return [true, { ...own, ...idle, state, run, expiresAt: now + retainMs }];
  },

  extend({ leaseMs }, now, own) {
    if (!own) return [false];
    const leaseEndsAt = now + leaseMs;
    return [true, { ...own, leaseEndsAt, expiresAt: Math.max(own.expiresAt, leaseEndsAt) }];
  },

  forget: (...[, , , known, leased]) => (known && !leased ? [true, null] : [false]),
};

const isLeased = ({ state, leaseEndsAt }: StoredRecord, now: number) =>
  state === "running" && now < leaseEndsAt;

/**
 * Returns the result of a call, and the record to write. `record` is the record that the store has found, which may
 * have expired; undefined if there is none. `now` is the time of the store's clock, in milliseconds.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { next } from "@svc-webhooks/core/store-rules";
 *
 * const request = { token: "a", leaseMs: 30_000, retainMs: 60_000 };
 * const [result, record] = next("claim", undefined, request, 1_000);
 * assert.deepEqual(result, { status: "claimed", fence: 1_000, run: 1, takenOver: false });
 * assert.equal(record?.state, "running");
 * ```
 */
export function next<Call extends keyof Calls>(
  call: Call,
  record: StoredRecord | undefined,
  request: Calls[Call][0],
  now: number,
): Next<Calls[Call][1]> {
  const known = record && now < record.expiresAt ? record : undefined;
  const leased = known && isLeased(known, now) ? known : undefined;
  const isOwn = known?.state === "running" && known.token === request?.token;
  return rules[call](request, now, isOwn ? known : undefined, known, leased);
}

/**
 * Returns the state that `peek` reports for a record, or undefined if the record has expired.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { doneRecord, stateOf } from "@svc-webhooks/core/store-rules";
 *
 * assert.equal(stateOf(doneRecord(undefined, 60_000), 1_000), "done");
 * assert.equal(stateOf(doneRecord(undefined, 60_000), 60_000), undefined);
 * ```
 */
export const stateOf = (record: StoredRecord, now: number): RecordState | undefined =>
  now >= record.expiresAt
    ? undefined
    : record.state === "running" && !isLeased(record, now)
      ? "failed"
      : record.state;

/** Returns the error for a reply that does not have the expected form. `call` is `"a claim"` or `"a peek"`. */
type Unexpected = (call: string, reply: string) => Error;

/**
 * Reads the text with which a server's script or function replies to a claim: claimed is `c<fence> <run>`, with ` t` at
 * the end if the claim took over a run; busy is `b<leaseLeftMs>`; done is `d<lineage>`; parked is `p<lineage>`.
 *
 * @param unexpected returns the error to throw for any other text
 * @param decode returns the lineage for its text in the reply. Default: the text itself
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { readClaim } from "@svc-webhooks/core/store-rules";
 *
 * const unexpected = (call: string, reply: string) => new Error(`${reply} is no reply to ${call}.`);
 * assert.deepEqual(readClaim("b250", unexpected), { status: "busy", leaseLeftMs: 250 });
 * assert.throws(() => readClaim("OK", unexpected), /^Error: OK is no reply to a claim\.$/);
 * ```
 */
export function readClaim(
  reply: string,
  unexpected: Unexpected,
  decode = (lineage: string): string => lineage,
): ClaimResult {
  const rest = reply.slice(1);
  switch (reply.charAt(0)) {
    case "c": {
      const [fence, run, mark] = rest.split(" ");
      return { status: "claimed", fence: Number(fence), run: Number(run), takenOver: mark === "t" };
    }
    case "b":
      return { status: "busy", leaseLeftMs: Number(rest) };
    case "d":
      return { status: "done", lineage: decode(rest) || undefined };
    case "p":
      return { status: "parked", lineage: decode(rest) || undefined };
    default:
      throw unexpected("a claim", reply);
  }
}

const states: Readonly<Record<string, RecordState | undefined>> = {
  r: "running",
  f: "failed",
  p: "parked",
  d: "done",
  "-": undefined,
};

/**
 * Reads the text with which a server's script or function replies to a `peek` of `count` keys. It has one character for
 * each key: the first letter of the record's state, or `-` for no record.
 *
 * @param unexpected returns the error to throw for any other text
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { readStates } from "@svc-webhooks/core/store-rules";
 *
 * const unexpected = (call: string, reply: string) => new Error(`${reply} is no reply to ${call}.`);
 * assert.deepEqual(readStates("d-", 2, unexpected), ["done", undefined]);
 * assert.throws(() => readStates("d", 2, unexpected), /^Error: d is no reply to a peek\.$/);
 * ```
 */
export function readStates(
  reply: string,
  count: number,
  unexpected: Unexpected,
): readonly (RecordState | undefined)[] {
  const letters = Array.from(reply);
  if (letters.length !== count || !letters.every((letter) => Object.hasOwn(states, letter))) {
    throw unexpected("a peek", reply);
  }
  return letters.map((letter) => states[letter]);
}
