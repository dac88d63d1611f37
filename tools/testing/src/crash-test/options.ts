import type { Receiver } from "@svc-webhooks/core";
import {
  faultKinds,
  isAcceptable,
  isFaultKind,
  readFaults,
  type FaultKind,
} from "@svc-webhooks/crash-test";
import type { Accepts } from "../accepting.js";
import { assertValid } from "./assert-valid.js";
import type { PgPool } from "./postgres/pool.js";
import { subjectOf, type Subject } from "./simulation/subject.js";
import type { World } from "./world.js";

/**
 * The options of a crash test. Errors: `invalid_option`.
 *
 * @typeParam Pool the type of `world.pool`: `crashTest<import("pg").Pool>(…)` for Drizzle and Kysely
 */
export interface CrashTestOptions<Pool = PgPool> {
  /**
   * Builds your receiver as your program does when it starts. Called for each simulated process, so a crash loses the
   * state in the function's closure. It does not lose state in variables of modules.
   */
  readonly receiver: (world: World<Pool>) => Receiver | Promise<Receiver>;
  /** The events that the sender delivers, in this order: 1 to 3 bodies, as `fixture` creates them. */
  readonly events: readonly unknown[];
  /** Creates your tables and rows. Called once; each history starts with these tables and rows. */
  readonly prepare?: ((world: Pick<World<Pool>, "pool">) => Promise<void>) | undefined;
  /**
   * Responds to the `fetch` of your code. Default: 200 with `{}`. Must not call a real service. Not called for a
   * request that a fault stops, such as `fail` or `status`.
   */
  readonly respond?: ((request: Request) => Response | Promise<Response>) | undefined;
  /**
   * Functions, by name, that return more state to compare, as JSON, at the end of each history. They are also called
   * before each history, because only the entries that a history adds to a list are compared.
   */
  readonly observe?: Readonly<Record<string, () => unknown>> | undefined;
  /**
   * Findings that you accept, such as `"duplicate slack"`. A finding that is `stuck` cannot be accepted. An accepted
   * finding that does not occur is an error, unless `only` is set.
   */
  readonly accept?: readonly string[] | undefined;
  /** The kinds of faults to inject. Default: all. */
  readonly faults?: readonly FaultKind[] | undefined;
  /**
   * The maximum number of faults in one history, 1 … 3. Default 2. All histories with one fault are run, unless `only`
   * is set or the history without faults has a finding. Histories with more faults are run only if all findings of the
   * histories with fewer faults are accepted.
   */
  readonly maxFaults?: number | undefined;
  /**
   * The maximum number of histories with more than one fault, 0 … 1,000,000. Default 500. The limit is a number, not a
   * time, so that each machine runs the same histories.
   */
  readonly maxHistories?: number | undefined;
  /** An integer that selects histories if `maxHistories` excludes some. Default 1, so that all runs select the same. */
  readonly seed?: number | undefined;
  /** The faults of the one history to run after those without faults: `"crash@3 crash@7"`. Default: no limit. */
  readonly only?: string | undefined;
  /** The folder for `crash-test.json` and `crash-test.html`, created if it does not exist. Default: no files. */
  readonly reportTo?: string | undefined;
}

/** The options of a crash test of an intake, which replaces the receiver. Errors: `invalid_option`. */
export interface IntakeCrashTestOptions<Pool = PgPool> extends Omit<
  CrashTestOptions<Pool>,
  "receiver"
> {
  /**
   * Builds your intake, as `receiver` builds a receiver. Instead of signed deliveries, its `accept` is called with the
   * events, from the first of its `sources`, and called again until the outcome is 2xx.
   */
  readonly intake: (world: World<Pool>) => Accepts | Promise<Accepts>;
}

const isWhole = (value: unknown, min: number, max: number): boolean =>
  Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;

const names: readonly (keyof CrashTestOptions | keyof IntakeCrashTestOptions)[] = [
  "receiver",
  "intake",
  "events",
  "prepare",
  "respond",
  "observe",
  "accept",
  "faults",
  "maxFaults",
  "maxHistories",
  "seed",
  "only",
  "reportTo",
];

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns whether a value is an event's body: an object that JSON can represent as an object. */
function isEvent(value: unknown): boolean {
  try {
    return typeof value === "object" && value !== null && JSON.stringify(value).startsWith("{");
  } catch {
    return false;
  }
}

type Defaulted =
  "respond" | "observe" | "accept" | "faults" | "maxFaults" | "maxHistories" | "seed";

/** The options of a crash test, with their defaults. */
export type CompleteOptions = Omit<CrashTestOptions, "receiver"> & {
  readonly [Name in Defaulted]: NonNullable<CrashTestOptions[Name]>;
} & { readonly subject: Subject };

/**
 * Returns the options with their defaults.
 *
 * @throws CrashTestError `invalid_option`
 */
export function completeOptions(
  options: CrashTestOptions | IntakeCrashTestOptions,
): CompleteOptions {
  assertValid(
    typeof options === "object" && (options as unknown) !== null,
    "`crashTest` needs an options object with at least `receiver` and `events`.",
  );
  const unknown = Object.keys(options).filter((name) => !names.some((known) => known === name));
  assertValid(
    unknown.length === 0,
    `Unknown option \`${unknown[0]}\`. The options are ${names.join(", ")}.`,
  );
  const { receiver, intake, ...others } = options as Partial<
    Pick<CrashTestOptions, "receiver"> & Pick<IntakeCrashTestOptions, "intake">
  > &
    Omit<CrashTestOptions, "receiver">;
  const { events, prepare, respond = () => Response.json({}), observe = {} } = others;
  const { accept = [], faults = faultKinds, maxFaults = 2, maxHistories = 500 } = others;
  const { seed = 1, only, reportTo } = others;
  const subject = subjectOf(receiver, intake);
  assertValid(
    Array.isArray(events) && events.length >= 1 && events.length <= 3,
    '`events` must be a list of 1 to 3 event bodies, such as [fixture("email.delivered")].',
  );
  for (const [index, event] of events.entries()) {
    assertValid(
      isEvent(event),
      `\`events[${index}]\` must be an object that JSON can represent, such as fixture("email.delivered").`,
    );
  }
  for (const [name, option] of Object.entries({ prepare, respond })) {
    assertValid(
      option === undefined || typeof option === "function",
      `\`${name}\` must be a function.`,
    );
  }
  assertValid(
    Object(observe) === observe &&
      Object.values(observe).every((read) => typeof read === "function"),
    "`observe` must be an object whose values are functions: { mails: () => mails }.",
  );
  assertValid(
    Array.isArray(faults) && faults.length > 0 && faults.every(isFaultKind),
    `\`faults\` must be a list of kinds: ${faultKinds.join(", ")}.`,
  );
  assertValid(isWhole(maxFaults, 1, 3), "`maxFaults` must be 1, 2 or 3.");
  assertValid(
    isWhole(maxHistories, 0, 1_000_000),
    "`maxHistories` must be an integer from 0 to 1,000,000.",
  );
  assertValid(Number.isSafeInteger(seed), "`seed` must be an integer.");
  assertValid(
    Array.isArray(accept) && accept.every((name) => isAcceptable(textOf(name))),
    '`accept` must be a list of findings, such as "duplicate slack". A finding that is `stuck` cannot be accepted.',
  );
  assertValid(
    only === undefined || (typeof only === "string" && readFaults(only) !== undefined),
    `\`only\` must be the faults that a finding names, such as "crash@3 crash@7": kinds (${faultKinds.join(", ")}) and points, in order.`,
  );
  assertValid(
    reportTo === undefined || (typeof reportTo === "string" && reportTo !== ""),
    "`reportTo` must be the path to a folder.",
  );
  return {
    ...others,
    subject,
    respond,
    observe,
    accept,
    faults,
    maxFaults,
    maxHistories,
    seed,
  };
}
