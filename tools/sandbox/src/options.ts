import { ConfigError } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import type { AssumptionId } from "./assumptions/table.js";
import { clockModes, type ClockOptions } from "./clock.js";
import type { ClockMode } from "./clock.js";
import { lastTime } from "./lib/iso.js";
import { systemLookup, type Lookup } from "./network/url-rule.js";
import { messageOf } from "./errors.js";
import { createLedger, type Ledger } from "./assumptions/ledger.js";
import { defaultLimits } from "./state/retention.js";

export interface SandboxOptions {
  /**
   * `"real"` (default); `"manual"`, which stands still until it is moved, for example by `clock.advance()`; or
   * `"accelerated"`, 60 times as fast as real time, or `speed` times (more than 0, at most 999,999). `start` is in
   * epoch milliseconds, at most 253,402,214,400,000: the clock ends with the year 9999. `advance` stops waiting for
   * receivers if no attempt finishes for `patienceMs` of real time: 1 to 600,000, 1,000 by default.
   *
   * A data file stores the clock, whose time then goes back only by a rewind. Without this option, the clock keeps
   * the file's mode. `"real"` without `start` continues at the machine's time, or at the file's time if that is later;
   * the clock then stays ahead by the difference. `start` applies only if the file has no clock yet.
   */
  readonly clock?:
    | ClockMode
    | {
        readonly mode: ClockMode;
        readonly speed?: number;
        readonly start?: number;
        readonly patienceMs?: number;
      }
    | undefined;
  /** The SQLite file that stores all state, with mode 0600. Default: none; state is kept in memory. */
  readonly data?: string | undefined;
  /**
   * Values of assumptions by their id: `{ "A-06": "reject" }`. A-04 also accepts a map from occasions to types, and
   * A-07 a function. `sandbox.assumptions()` lists the words that each assumption accepts. These values are not saved.
   * They override the values in the data file, which stores only values that were selected over HTTP.
   */
  readonly assumptions?: Readonly<Partial<Record<AssumptionId, unknown>>> | undefined;
  /**
   * Makes ids and secrets repeatable: a whole number, at least 0. Each start with the same data file has a different
   * sequence. Default: random.
   */
  readonly seed?: number | undefined;
  /** An SMTP server on loopback to which each email is also relayed: `smtp://127.0.0.1:1025`. Default: none. */
  readonly smtp?: string | undefined;
  /** Host names under which `listen()` serves requests, with any port, in addition to loopback names. Default: none. */
  readonly allowHosts?: readonly string[] | undefined;
  /**
   * The maximum number of deliveries, and of calls, to keep: 1 or more. Finished calls without an effect are dropped
   * first, then the oldest finished ones with their deliveries. Calls with pending deliveries are never dropped. Default
   * 10,000.
   */
  readonly maxDeliveries?: number | undefined;
  /**
   * The maximum number of bytes of requests, responses and emails to keep: 1 or more. Data of pending deliveries is
   * never dropped. Default 64 MiB.
   */
  readonly maxBytes?: number | undefined;
  /**
   * Resolves the host names of endpoints, except localhost, which is always loopback. Default: the system's resolver.
   */
  readonly lookup?: Lookup | undefined;
  /** Receives each log line for the operator. Default: prints it to stderr. */
  readonly log?: ((line: string) => void) | undefined;
}

/** The validated options, with defaults in place of absent ones. */
export type ResolvedOptions = ReturnType<typeof resolveOptions>;

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
}

const names: readonly (keyof SandboxOptions)[] = [
  "clock",
  "data",
  "assumptions",
  "seed",
  "smtp",
  "allowHosts",
  "maxDeliveries",
  "maxBytes",
  "lookup",
  "log",
];

/** Validates the options, and applies the defaults. @throws ConfigError `invalid_option`, `unknown_option` */
export function resolveOptions(options: SandboxOptions) {
  assertOptions(options, names);
  const {
    data,
    assumptions = {},
    seed,
    allowHosts = [],
    maxDeliveries = defaultLimits.maxDeliveries,
    maxBytes = defaultLimits.maxBytes,
    lookup = systemLookup,
    log = toStderr,
  } = options;
  assertValid(data === undefined || isText(data), "data", "`data` must be the path of a file.");
  assertValid(
    Array.isArray(allowHosts) && allowHosts.every(isText),
    "allowHosts",
    "`allowHosts` must be a list of host names.",
  );
  assertValid(typeof lookup === "function", "lookup", "`lookup` must be a function.");
  assertValid(typeof log === "function", "log", "`log` must be a function.");
  for (const [name, value, min] of [
    ["seed", seed ?? 0, 0],
    ["maxDeliveries", maxDeliveries, 1],
    ["maxBytes", maxBytes, 1],
  ] as const) {
    const isNumber = Number.isSafeInteger(value) && value >= min;
    assertValid(isNumber, name, `\`${name}\` must be a whole number that is at least ${min}.`);
  }
  return {
    /** Undefined if the option is absent, so that a restart continues in the mode of the data file. */
    clock: clockFrom(options.clock),
    data,
    seed,
    smtp: smtpFrom(options.smtp),
    allowHosts,
    limits: { maxDeliveries, maxBytes },
    lookup,
    log,
    /** A new ledger with the values of the option `assumptions`. */
    ledger: ledgerWith(assumptions),
    assumptions: assumptions as Readonly<Record<string, unknown>>,
  };
}

/**
 * Prints a line. All sandboxes of a process share this function, so that a line that is logged once for each `log`
 * function is printed only once.
 */
const toStderr = (line: string) => void process.stderr.write(`svc-webhooks sandbox: ${line}\n`);

const isText = (value: unknown) => typeof value === "string" && value !== "";

function clockFrom(clock: SandboxOptions["clock"]): ClockOptions | undefined {
  if (clock === undefined) return undefined;
  const options = typeof clock === "string" ? { mode: clock } : clock;
  assertOptions(options, ["mode", "speed", "start", "patienceMs"], "clock");
  assertValid(
    (clockModes as readonly unknown[]).includes(options.mode),
    "clock",
    '`clock` must be "real", "manual" or "accelerated", or an object with one of them as its `mode`.',
  );
  const { speed = 1, start = 0, patienceMs = 1 } = options;
  assertValid(
    speed > 0 && speed <= 999_999,
    "clock.speed",
    "`clock.speed` must be a number greater than 0 and at most 999,999.",
  );
  assertValid(
    start >= 0 && start <= lastTime,
    "clock.start",
    "`clock.start` must be a time in epoch milliseconds, at most 253402214400000.",
  );
  assertValid(
    patienceMs >= 1 && patienceMs <= 600_000,
    "clock.patienceMs",
    "`clock.patienceMs` must be a number of milliseconds from 1 to 600,000.",
  );
  return options;
}

/** Parses `smtp`. Emails must not leave this machine, so only loopback addresses are accepted. */
function smtpFrom(smtp: string | undefined): SmtpServer | undefined {
  if (smtp === undefined) return undefined;
  const [, host = "", port = ""] =
    /^smtp:\/\/(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})\/?$/.exec(smtp) ?? [];
  assertValid(
    host !== "" && Number(port) > 0 && Number(port) < 65_536,
    "smtp",
    "`smtp` must be the URL of a server on this machine, such as smtp://127.0.0.1:1025, without credentials or TLS. Start such a server first, for example Mailpit.",
  );
  // `localhost` becomes a fixed address, so that no resolver can direct emails elsewhere.
  return { host: host === "[::1]" ? "::1" : "127.0.0.1", port: Number(port) };
}

function ledgerWith(assumptions: Readonly<Record<string, unknown>>): Ledger {
  const ledger = createLedger();
  assertOptions(
    assumptions,
    ledger.list().map(({ id }) => id),
    "assumptions",
  );
  for (const [id, value] of Object.entries(assumptions)) {
    try {
      ledger.set(id, value);
    } catch (error) {
      throw new ConfigError("invalid_option", `assumptions["${id}"]`, messageOf(error));
    }
  }
  return ledger;
}
