import { deepEqual, fail, ok } from "node:assert/strict";
import { inspect } from "node:util";
import type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  DeliveryStore,
  RecordState,
  ReleaseRequest,
} from "@svc-webhooks/core";

export interface StoreUnderTest {
  /** The store under test, without records. */
  readonly store: DeliveryStore;
  /**
   * Lets a whole number of milliseconds pass for leases and retention, by moving the store's clock or the times in its
   * records. The contract awaits the result. Negative values set the clock back, by at most an hour. A clock made for
   * the test must start in 2020 or later, because fences are epoch milliseconds.
   */
  readonly advance: (ms: number) => unknown;
  /**
   * Whether the store's time stands still between calls of `advance`, and new fences are derived from that time. If
   * true, leases, retention and fences are tested to the millisecond. Otherwise, the store's clock may advance by up to
   * a second during a case. Default false.
   */
  readonly exactClock?: boolean | undefined;
  /** Called and awaited after each case. */
  readonly close?: (() => unknown) | undefined;
}

export const leaseMs = 30_000;
export const retainMs = 100_000;
/** How far a running clock may advance during a case, in milliseconds. */
const driftMs = 1_000;

/** A caller's token, and values that override the defaults of its requests. */
export type Claimant = Pick<ClaimRequest, "token"> & Partial<ClaimRequest>;

/** The fence and the run number of a claim. */
export interface Numbers {
  readonly fence: number;
  readonly run: number;
}

export interface StoreCase {
  readonly title: string;
  readonly run: (probe: StoreProbe) => Promise<void>;
}

/** Creates a store call with a new signal, as receivers do. */
const newCall = () => ({ signal: new AbortController().signal });

/** Returns a new key in the format that receivers use: 32 hex digits. */
export const newKey = (): string => crypto.randomUUID().replaceAll("-", "");
/** Returns a caller with a token (a UUID) and a lineage (a hash) in the formats that receivers use. */
export const claimant = (digit: number): Claimant => ({
  token: `${digit}0000000-0000-4000-8000-000000000000`,
  lineage: String(digit).repeat(32),
});

/** Wraps the store for the cases: requests have default values, and each method returns a promise. */
export class StoreProbe {
  readonly store: DeliveryStore;
  /** Whether the store's time stands still between calls of `advance`. */
  readonly exact: boolean;
  /** A lease or a retention is certainly in force until this many milliseconds before its end. */
  readonly borderMs: number;
  readonly #advance: StoreUnderTest["advance"];

  constructor({ store, advance, exactClock = false }: StoreUnderTest) {
    this.store = store;
    this.exact = exactClock;
    this.borderMs = exactClock ? 1 : driftMs;
    this.#advance = advance;
  }

  async advance(ms: number): Promise<void> {
    await this.#advance(ms);
  }

  async claim(key: string, by: Claimant): Promise<ClaimResult> {
    return this.store.claim(key, { leaseMs, retainMs, ...by }, newCall());
  }

  async complete(key: string, by: Claimant): Promise<CompleteResult> {
    return this.store.complete(key, { leaseMs, retainMs, ...by }, newCall());
  }

  async release(key: string, by: Claimant, to: ReleaseRequest["to"]): Promise<boolean> {
    return this.store.release(key, { leaseMs, retainMs, ...by, to }, newCall());
  }

  async extend(key: string, by: Claimant): Promise<boolean> {
    return this.store.extend(key, { leaseMs, retainMs, ...by }, newCall());
  }

  async forget(key: string): Promise<boolean> {
    return this.store.forget(key, newCall());
  }

  /** Resolves to the states of records, or to undefined if the store has no `peek`. */
  async peek(keys: readonly string[]): Promise<readonly (RecordState | undefined)[] | undefined> {
    return this.store.peek?.(keys, newCall());
  }

  async check(): Promise<readonly string[] | undefined> {
    return this.store.check?.(newCall());
  }

  /** Makes a claim that must be granted, and resolves to its fence and run number. */
  async own(key: string, by: Claimant): Promise<Numbers> {
    const result = await this.claim(key, by);
    if (result.status !== "claimed") {
      fail(`The claim by ${JSON.stringify(by.token)} was not granted: ${JSON.stringify(result)}.`);
    }
    const { fence, run } = result;
    ok(
      Number.isSafeInteger(fence) && fence > 0,
      `\`fence\` must be a positive safe integer, not ${inspect(fence)}.`,
    );
    ok(
      Number.isSafeInteger(run) && run > 0,
      `\`run\` must be a positive safe integer, not ${inspect(run)}.`,
    );
    return { fence, run };
  }

  /**
   * Makes a claim that must find the record busy, with `leftMs` left on its lease, or up to a second less if the clock
   * is not exact.
   */
  async expectBusy(key: string, by: Claimant, leftMs: number): Promise<void> {
    const result = await this.claim(key, by);
    if (result.status !== "busy")
      fail(`The claim did not find the record busy: ${JSON.stringify(result)}.`);
    const { leaseLeftMs } = result;
    const agedMs = leftMs - leaseLeftMs;
    const isNear = this.exact ? agedMs === 0 : agedMs >= 0 && agedMs < driftMs;
    ok(leaseLeftMs > 0 && isNear, `The lease has ${leaseLeftMs} ms left instead of ${leftMs} ms.`);
  }

  /** Makes a claim that must find the record done or parked, with this lineage. */
  async expectSettled(
    key: string,
    by: Claimant,
    status: "done" | "parked",
    lineage: string | undefined,
  ): Promise<void> {
    const result = await this.claim(key, by);
    // Adds an undefined lineage, because a store may omit an unknown lineage.
    deepEqual({ lineage: undefined, ...result }, { status, lineage });
  }
}
