import type { FailureKind } from "../network/transport.js";
import type { eventShape } from "../read/shapes.js";
import type { stateWords } from "../read/search.js";

/* The page's words for states and results, and the shapes of their icons. */

export type Shape = "ok" | "bad" | "wait" | "half" | "none" | "flag" | "warn" | "event";

/** The shape and color for each delivery state, and for events that went to no endpoint. */
export const stateShapes = {
  succeeded: "ok",
  failed: "bad",
  waiting: "wait",
  sending: "half",
  not_sent: "none",
} as const satisfies Record<(typeof stateWords)[keyof typeof stateWords] | "not_sent", Shape>;

/**
 * Returns a state's label, such as `Not sent`. The label of `waiting` is `Retrying`, because nearly all waiting
 * deliveries have already failed once.
 */
export const stateLabel = (state: keyof typeof stateShapes): string =>
  state === "waiting" ? "Retrying" : upperFirst(state.replace("_", " "));

/** Texts for the kinds of errors, short enough for a chip. */
const errorWords: Readonly<Record<FailureKind, string>> = {
  refused: "refused",
  timeout: "timed out",
  reset: "reset",
  tls: "TLS failed",
  dns: "name not found",
  protocol: "not HTTP",
  url_refused: "URL refused",
  dropped: "dropped",
};

interface Result {
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly error?: string | undefined;
}

const withoutHandler: ReadonlySet<string | undefined> = new Set(["ignored", "duplicate", "parked"]);

/** Whether a code is an outcome that svc-webhooks reports for a delivery that it accepted but did not process. */
export const isUnhandled = ({ code }: Result) => withoutHandler.has(code);

/** Returns the look of an attempt, which determines its icon and its color. */
export const lookOf = (attempt: Result & { readonly ok: boolean }): "ok" | "bad" | "none" =>
  isUnhandled(attempt) ? "none" : attempt.ok ? "ok" : "bad";

/** Returns a short text for a result, such as `500`, `200 ignored` or `timed out`. */
export function resultWord({ status, error, code }: Result): string {
  if (status === undefined) return errorWords[error as FailureKind];
  return isUnhandled({ code }) ? `${status} ${code}` : String(status);
}

/** Returns a longer text for a result, such as `401 signature_mismatch` or `connection refused`. */
export function resultWords(result: Result): string {
  const { code, error } = result;
  const word = error === "refused" ? "connection refused" : resultWord(result);
  return code === undefined || isUnhandled(result) ? word : `${word} ${code}`;
}

export const notSentTexts = {
  no_endpoint: "not sent: no endpoint is registered",
  type_not_subscribed: "not sent: no endpoint subscribes to it",
  archived: "not sent: all its endpoints are archived",
  not_emitted: "not raised (A-03, A-04, A-07)",
} as const satisfies Record<NonNullable<ReturnType<typeof eventShape>["not_sent"]>, string>;

export const triggerWords = {
  event: "automatic",
  retry: "retry",
  redeliver: "redelivered",
  manual: "sent from here",
} as const;

export const tamperTexts = {
  wrong_secret: "signed with a wrong secret",
  previous_secret: "signed with the previous secret",
  flipped_byte: "one byte changed after signing",
  missing_prefix: "signature without sha256=",
  missing_header: "no signature",
  duplicate_header: "two signature headers",
  reserialized: "body serialized again after signing",
} as const;

const units = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
] as const;

/** Formats a duration as `350 ms`, `1.2 s`, `5 min` or `2 h 30 min`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  const [size, unit] = units.find(([length]) => ms >= length) ?? units[3];
  const whole = Math.floor(ms / size);
  const next = units[units.findIndex(([, name]) => name === unit) + 1];
  const rest = next ? Math.floor((ms - whole * size) / next[0]) : 0;
  return rest > 0 && next ? `${whole} ${unit} ${rest} ${next[1]}` : `${whole} ${unit}`;
}

const plural = new Intl.NumberFormat("en");

export const count = (n: number, one: string, many = `${one}s`): string =>
  `${plural.format(n)} ${n === 1 ? one : many}`;

export const amount = (n: number): string => plural.format(n);

/** Returns a URL without its scheme, such as `localhost:3000/webhooks`. Local receivers rarely differ in the scheme. */
export const shortUrl = (url: string): string => url.replace(/^https?:\/\//, "");

export const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
