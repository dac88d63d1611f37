import type { Inspection } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";

/** The options of a scheme whose signature contains a time. */
export interface TimedOptions {
  /**
   * How far the signed time may be from the receiver's clock, before or after it, in whole milliseconds, 1,000 …
   * 3,600,000. Default 300,000 (5 min). Errors: `invalid_option`.
   */
  readonly toleranceMs?: number | undefined;
}

/**
 * Checks the options of a scheme with a signed time, and returns its tolerance in milliseconds.
 *
 * @param names the scheme's other options
 * @param byDefault the default tolerance, in milliseconds
 * @param most the longest tolerance that the scheme allows, in milliseconds
 * @throws ConfigError `invalid_option`, `unknown_option`
 */
export function toleranceOf(
  options: TimedOptions,
  names: readonly string[] = [],
  byDefault = 300_000,
  most = 3_600_000,
): number {
  assertOptions(options, ["toleranceMs", ...names]);
  const { toleranceMs = byDefault } = options;
  assertValid(
    Number.isInteger(toleranceMs) && toleranceMs >= 1_000 && toleranceMs <= most,
    "toleranceMs",
    `\`toleranceMs\` must be an integer from 1000 to ${most}, in milliseconds.`,
  );
  return toleranceMs;
}

/**
 * Returns the problem with a signed time, or undefined if there is none. Accepts only digits (at most 11 for seconds,
 * 14 for milliseconds), because `Number` also parses texts such as `1e9` and ` 1 `.
 *
 * @param header the header to name in the text for the log
 * @param unitMs the unit of `time`, in milliseconds: 1,000 or 1
 */
export function timeProblem(
  header: string,
  time: string,
  receivedAt: number,
  toleranceMs: number,
  unitMs = 1_000,
): Inspection<never> | undefined {
  const digits = unitMs === 1 ? /^\d{1,14}$/ : /^\d{1,11}$/;
  if (!digits.test(time)) return { problem: "signature_malformed" };
  const hint = staleness(header, Number(time) * unitMs, receivedAt, toleranceMs);
  return hint ? { problem: "signature_stale", hint } : undefined;
}

/** Returns a hint if a signed time is further from the time of arrival than `toleranceMs`, otherwise undefined. */
export function staleness(
  header: string,
  signedAt: number,
  receivedAt: number,
  toleranceMs: number,
): string | undefined {
  const ageMs = receivedAt - signedAt;
  if (Math.abs(ageMs) <= toleranceMs) return undefined;
  const seconds = Math.ceil(Math.abs(ageMs) / 1_000);
  const side = ageMs > 0 ? "before" : "after";
  return `${header} was signed ${seconds} s ${side} it arrived, but only ${toleranceMs / 1_000} s are tolerated`;
}
