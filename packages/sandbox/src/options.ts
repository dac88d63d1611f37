import { assertOptions, assertValid, ReceiverConfigError } from "@svc-webhooks/core";
import type { AssumptionId } from "./assumptions/table.js";
import type { ClockOptions } from "./clock.js";
import type { ClockMode } from "./clock.js";
import { lastTime } from "./lib/iso.js";
import { systemLookup, type Lookup } from "./network/url-rule.js";
import { messageOf } from "./errors.js";
import { createLedger, type Ledger } from "./assumptions/ledger.js";
import { defaultLimits } from "./state/retention.js";

export interface SandboxOptions {
  /**
   * `"real"` (default), `"manual"`: stands still until `clock.advance()`, or `"accelerated"`: 60 times as
   * fast as real time, or `speed` times (more than 0, at most 1,000,000). `start` is in epoch milliseconds, at
   * most 253,402,214,400,000: the clock ends with the year 9999.
   * `advance` waits `patienceMs` of real time for a receiver: 1 to 600,000, 1,000 by default.
   *
   * A data file keeps its clock, and time never goes back. Without this option its mode continues. `"real"`
   * without `start` then begins at the machine's time, unless the file's time is later: that offset remains.
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
  /** The SQLite file that keeps all state, with mode 0600. Default: none, state is in memory. */
  readonly data?: string | undefined;
  /**
   * Values of assumptions by their id: `{ "A-06": "reject" }`. A-04 also takes a map from occasions to
   * types, A-07 a function. All words: `sandbox.assumptions()`. They are not saved, and win over the values
   * in the data file, which keeps those that were chosen over HTTP.
   */
  readonly assumptions?: Readonly<Partial<Record<AssumptionId, unknown>>> | undefined;
  /** Makes ids and secrets repeatable; each start on one data file has its own. Default: random. */
  readonly seed?: number | undefined;
  /** An SMTP server on loopback that also receives each email: `smtp://127.0.0.1:1025`. Default: none. */
  readonly smtp?: string | undefined;
  /** Host names other than localhost under which `listen()` serves. Default: none. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Deliveries and calls to keep, 1 or more. The oldest finished ones are dropped first. Default 10,000. */
  readonly maxDeliveries?: number | undefined;
  /** Bytes of requests, responses and mails to keep. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Resolves the names of endpoints other than localhost, which is loopback. Default: the system's resolver. */
  readonly lookup?: Lookup | undefined;
  /** Receives lines for the operator. Default: they are printed on stderr. */
  readonly log?: ((line: string) => void) | undefined;
}

/** The options with their defaults. */
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

const clockModes: ReadonlySet<unknown> = new Set(["real", "manual", "accelerated"]);

/** @throws ReceiverConfigError `invalid_option`, `unknown_option` */
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
    assertValid(isNumber, name, `\`${name}\` must be a whole number of ${min} or more.`);
  }
  return {
    /** Undefined if nothing was chosen: a restart then continues in the mode of the data file. */
    clock: clockFrom(options.clock),
    data,
    seed,
    smtp: smtpFrom(options.smtp),
    allowHosts,
    limits: { maxDeliveries, maxBytes },
    lookup,
    log,
    /** With the chosen assumptions. */
    ledger: ledgerWith(assumptions),
    assumptions: assumptions as Readonly<Record<string, unknown>>,
  };
}

/** One function for all sandboxes of a process: what is reported once per log is then printed once. */
const toStderr = (line: string) => void process.stderr.write(`svc-webhooks sandbox: ${line}\n`);

const isText = (value: unknown) => typeof value === "string" && value !== "";

function clockFrom(clock: SandboxOptions["clock"]): ClockOptions | undefined {
  if (clock === undefined) return undefined;
  const options = typeof clock === "string" ? { mode: clock } : clock;
  assertOptions(options, ["mode", "speed", "start", "patienceMs"], "clock");
  assertValid(
    clockModes.has(options.mode),
    "clock",
    '`clock` must be "real", "manual" or "accelerated", or an object with one of them as its `mode`.',
  );
  const { speed = 1, start = 0, patienceMs = 1 } = options;
  assertValid(
    speed > 0 && speed <= 1_000_000,
    "clock.speed",
    "`clock.speed` must be a number from 0 to 1,000,000, but not 0.",
  );
  assertValid(
    start >= 0 && start <= lastTime,
    "clock.start",
    "`clock.start` must be a time in epoch milliseconds of at most 253402214400000.",
  );
  assertValid(
    patienceMs >= 1 && patienceMs <= 600_000,
    "clock.patienceMs",
    "`clock.patienceMs` must be a number of milliseconds from 1 to 600,000.",
  );
  return options;
}

/** Emails must not leave this machine, so only loopback addresses are accepted. */
function smtpFrom(smtp: string | undefined): SmtpServer | undefined {
  if (smtp === undefined) return undefined;
  const [, host = "", port = ""] =
    /^smtp:\/\/(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})\/?$/.exec(smtp) ?? [];
  assertValid(
    host !== "" && Number(port) > 0 && Number(port) < 65_536,
    "smtp",
    "`smtp` must have the form smtp://127.0.0.1:1025: a server on this machine with its port, without credentials or TLS. Start one here, such as Mailpit.",
  );
  // The address is fixed, so that no resolver can send emails elsewhere.
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
      throw new ReceiverConfigError("invalid_option", `assumptions["${id}"]`, messageOf(error));
    }
  }
  return ledger;
}
