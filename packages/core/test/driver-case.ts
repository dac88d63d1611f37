import fc from "fast-check";

/**
 * When a function of the user ends: immediately, after `clock.jump`, as a promise that has settled, as a thenable, as a
 * thenable that settles twice, after milliseconds of the clock, or never.
 */
export type When = "now" | "blocks" | "resolved" | "thenable" | "slow" | "twice" | "never" | number;

/** How a function of the user ends, and when. */
export interface Play<End extends string = string> {
  readonly ends: End;
  readonly when: When;
}

/*
 * No two deadlines may be due at the same millisecond, because their order would depend on how the timers were set. The
 * receiver's deadlines and pauses are multiples of 125 ms if Math.random() returns 0.5, and these are 1 to 5 more.
 */
export const slowMs = 2_505;
const milliseconds = fc.constantFrom(1, 502, 1_003, 1_504, 2_504, 9_005, 12_002, 25_003, 41_004);

const soon = fc.oneof(
  { weight: 5, arbitrary: fc.constant<When>("now") },
  { weight: 4, arbitrary: fc.constantFrom<When>("resolved", "thenable", "slow", "twice") },
  { weight: 3, arbitrary: milliseconds },
);
const any = fc.oneof({ weight: 12, arbitrary: soon }, fc.constant<When>("never"));
const anyBlocking = fc.oneof({ weight: 12, arbitrary: any }, fc.constant<When>("blocks"));

const playOf =
  (when: fc.Arbitrary<When>) =>
  /** Two of three plays end in the first way. */
  <End extends string>(first: End, ...others: readonly End[]): fc.Arbitrary<Play<End>> =>
    fc.record({
      ends: fc.oneof({ weight: 2, arbitrary: fc.constant(first) }, fc.constantFrom(...others)),
      when,
    });
const play = playOf(any);

/** Half of the cases do without this part. */
const half = <T>(part: fc.Arbitrary<T>) => fc.option(part, { freq: 2, nil: undefined });
/** One of three cases has this part. */
const rarely = <T>(part: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, part);
/** The plays of successive calls. The last one is repeated. */
const calls = <End extends string>(part: fc.Arbitrary<Play<End>>) =>
  fc.array(part, { minLength: 1, maxLength: 4 });
const hook = fc.oneof(
  { weight: 4, arbitrary: fc.constant("returns" as const) },
  fc.constant("throws" as const),
);

/** A delivery, and how the code of the user behaves. */
export const driverCase = fc.record({
  body: rarely(play("bytes", "aborted", "fails")),
  secret: rarely(play("right", "wrong", "second", "fails")),
  scheme: rarely(
    fc.record({
      inspect: playOf(soon)("claim", "problem", "fails"),
      verify: playOf(soon)("yes", "no", "fails"),
      identify: playOf(soon)("id", "handshake", "fails"),
      id: playOf(soon)("id", "none", "fails"),
    }),
  ),
  claim: fc.oneof(
    fc.constant<Play<"claimed">>({ ends: "claimed", when: "now" }),
    play("claimed", "again", "busy", "done", "parked", "junk", "trap", "fails", "not_sent"),
  ),
  complete: calls(play("owner", "fails", "not_sent", "refused")),
  release: calls(play("true", "false", "fails", "not_sent")),
  extend: calls(play("true", "false", "fails")),
  /** Whether store calls state that they have sent nothing when their deadline passes. */
  isUnsent: fc.boolean(),
  schema: rarely(playOf(anyBlocking)("accepts", "rejects", "fails")),
  around: rarely(play("passes", "again", "forgets", "waits", "skips", "fails", "failsAfter")),
  handler: playOf(anyBlocking)("returns", "throws", "retry", "permanent", "iterator"),
  onParked: half(play("returns", "throws")),
  hasMaxRuns: fc.boolean(),
  dedupeBy: fc.constantFrom("delivery" as const, "body" as const),
  onStoreError: fc.constantFrom("refuse" as const, "process" as const),
  handlerTimeoutMs: fc.constantFrom(2_000, 12_500),
  resume: rarely(
    fc.record({
      key: fc.constantFrom("none", "none", "same", "other"),
      isLast: fc.boolean(),
      giveUp: rarely(fc.constant("no result")),
      onError: half(hook),
    }),
  ),
  waitUntil: half(hook),
  observe: half(hook),
  onHandlerError: hook,
});

export type DriverCase = typeof driverCase extends fc.Arbitrary<infer Case> ? Case : never;
