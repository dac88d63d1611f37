import { longestTimer, systemClock, type ClientClock } from "./clock.js";
import { ClientConfigError, type ErrorFacts, type SvcError } from "./errors.js";
import type { RequestNote, ResponseNote } from "./notes.js";

export interface ClientOptions {
  /** The API key. Default: the environment variable `SVC_API_KEY`. */
  readonly apiKey?: string | undefined;
  /**
   * The URL before `/v1`, such as `http://127.0.0.1:4010`. With `http:`, the API key is sent unencrypted. Default: the
   * environment variable `SVC_BASE_URL`.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Sends the requests. Default: the global `fetch`. A replacement must not follow redirects when `redirect` is
   * `manual`.
   */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /**
   * The time limit of a request, including all its attempts and pauses, in milliseconds, 1 to 2^31 − 1. Default 60,000.
   */
  readonly deadlineMs?: number | undefined;
  /** The time limit of one attempt, including its response body, in milliseconds, 1 to 2^31 − 1. Default 10,000. */
  readonly attemptTimeoutMs?: number | undefined;
  /**
   * The maximum number of attempts after the first one, 0 to 100. Default 2. A request rejected with 429 has had no
   * effect, so it does not count: it is retried until `deadlineMs`, unless `maxRetries` is 0.
   */
  readonly maxRetries?: number | undefined;
  /**
   * The maximum size of a response body, in decompressed bytes, 1 to 2^31 − 1. Default 1,048,576. The client reads no
   * more. If a successful response is larger, the operation rejects with an InvalidResponseError `response_too_large`,
   * although the request was processed. If an error response is larger, the error has its usual class, but the code
   * `http_<status>`, because the JSON is incomplete.
   */
  readonly maxResponseBytes?: number | undefined;
  /**
   * Called before each attempt, and not awaited. It may add headers such as `traceparent`, but only synchronously. It
   * does not receive the API key. Its errors are ignored, so that a request does not depend on tracing.
   */
  readonly onRequest?: ((note: RequestNote) => void) | undefined;
  /** Called after each attempt, even one without a response. Its errors are ignored. */
  readonly onResponse?: ((note: ResponseNote) => void) | undefined;
  /** Replaces the clock that the client uses for deadlines and pauses. For tests only. */
  readonly clock?: ClientClock | undefined;
}

/** The last argument of each operation. Its values take precedence over the client's. */
export interface RequestOptions {
  /**
   * When this signal is aborted, the request ends with an AbortedError, even during a pause before a retry. Default:
   * none.
   */
  readonly signal?: AbortSignal | undefined;
  /** The time limit of the request, including all its attempts and pauses, in milliseconds. Default: the client's. */
  readonly deadlineMs?: number | undefined;
  /** The time limit of one attempt, in milliseconds. Default: the client's. */
  readonly attemptTimeoutMs?: number | undefined;
  /** The maximum number of attempts after the first one. Default: the client's. */
  readonly maxRetries?: number | undefined;
  /** The maximum size of a response body, in decompressed bytes. Default: the client's. */
  readonly maxResponseBytes?: number | undefined;
}

/** The last argument of operations that may carry an idempotency key. */
export interface KeyedRequestOptions extends RequestOptions {
  /**
   * Identifies the logical request: as long as the service keeps the key (assumed: 24 hours), a repetition has no
   * further effect, and using the same key with another body causes a 409 `idempotency_conflict`. Printable ASCII text.
   * Default: `emails.send` generates a random one for all its attempts, `request` none.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The last argument of `rotateSecret`. */
export interface RotateOptions extends RequestOptions {
  /**
   * Whether to repeat the request after a lost response, although this may rotate the secret once more. That rotation
   * replaces only the secret in the lost response, which was never received. Default false.
   */
  readonly repeat?: boolean | undefined;
}

/** The last argument of `redeliver`. */
export interface RedeliverOptions extends RequestOptions {
  /** The endpoint. Required only if the service gives an event the same id for all endpoints (assumption A-27). */
  readonly webhook_endpoint_id?: string | undefined;
}

export interface Limits {
  readonly deadlineMs: number;
  readonly attemptTimeoutMs: number;
  readonly maxRetries: number;
  readonly maxResponseBytes: number;
}

/** The client's options, with defaults applied. */
export interface Connection extends Limits {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly onRequest: (note: RequestNote) => void;
  readonly onResponse: (note: ResponseNote) => void;
  readonly clock: ClientClock;
}

const ignore = () => {};

/**
 * Validates options and applies their defaults.
 *
 * @throws ClientConfigError `invalid_option`
 */
export function resolveOptions(options: ClientOptions): Connection {
  checkNames(options, ["apiKey", "baseUrl", "fetch", "onRequest", "onResponse", "clock"]);
  const {
    apiKey = fromEnvironment("SVC_API_KEY"),
    baseUrl = fromEnvironment("SVC_BASE_URL"),
    // Looks up the global `fetch` for each request, so that a replacement is used.
    fetch = (url, init) => globalThis.fetch(url, init),
    onRequest = ignore,
    onResponse = ignore,
    clock = systemClock,
  } = options;
  for (const [name, value] of Object.entries({ fetch, onRequest, onResponse }))
    check(typeof value === "function", `\`${name}\` must be a function.`);
  check((apiKey ?? "") !== "", "`apiKey` (or SVC_API_KEY) must be set and not empty.");
  check(
    typeof apiKey === "string" && /^[!-~]+$/.test(apiKey),
    "`apiKey` (or SVC_API_KEY) must be printable ASCII without white space.",
  );
  const [, url] = /^(https?:\/\/[^\s/?#@]+(?:\/[^\s/?#]+)*)\/*$/i.exec(baseUrl ?? "") ?? [];
  check(
    url !== undefined && URL.canParse(url) && !url.endsWith("/v1"),
    "`baseUrl` (or SVC_BASE_URL) must be the URL before /v1, such as http://127.0.0.1:4010.",
  );
  const limits = resolveLimits(options);
  return { apiKey, baseUrl: url, fetch, onRequest, onResponse, clock, ...limits };
}

/** The minimum, the maximum and the default of each limit. */
const ranges = {
  deadlineMs: [1, longestTimer, 60_000],
  attemptTimeoutMs: [1, longestTimer, 10_000],
  maxRetries: [0, 100, 2],
  maxResponseBytes: [1, longestTimer, 1_048_576],
} as const;

/**
 * Validates limits. Missing ones come from `base`, then from the defaults.
 *
 * @throws ClientConfigError `invalid_option`
 */
export function resolveLimits(options: RequestOptions, base: Partial<Limits> = {}): Limits {
  const limits: Partial<Record<keyof Limits, number>> = {};
  for (const [name, [min, max, initial]] of Object.entries(ranges) as [
    keyof Limits,
    readonly [number, number, number],
  ][]) {
    const value = options[name] ?? base[name] ?? initial;
    check(
      typeof value === "number" && value >= min && value <= max,
      `\`${name}\` must be a number from ${min} to ${max}.`,
    );
    limits[name] = value;
  }
  return limits as Limits;
}

/**
 * Checks the names of options, because a misspelled option would have no effect.
 *
 * @param others the options besides the limits
 * @throws ClientConfigError `invalid_option` for an unknown name
 */
export function checkNames(options: object, others: readonly string[]): void {
  const known = [...others, ...Object.keys(ranges)];
  for (const name of Object.keys(options))
    check(
      known.includes(name),
      `\`${name}\` is not an option. The options include ${known.join(", ")}.`,
    );
}

/** @throws ClientConfigError `invalid_option` */
export function checkSignal({ signal }: Pick<RequestOptions, "signal">): void {
  check(!signal || signal instanceof AbortSignal, "`signal` must be an AbortSignal.");
}

/**
 * Returns the value of an environment variable, or undefined if it is not set, if there is no environment, as in
 * Workers, or if Deno denies access to it.
 */
function fromEnvironment(name: string): string | undefined {
  type Global = { readonly process?: { readonly env?: Record<string, string> } };
  try {
    return (globalThis as Global).process?.env?.[name];
  } catch {
    return undefined;
  }
}

/**
 * Asserts that an option is valid.
 *
 * @param message the error message. The first name in backticks becomes the error's `param`
 * @throws an error of `type`, by default ClientConfigError `invalid_option`, if `ok` is false
 */
export function check(
  ok: boolean,
  message: string,
  type: new (facts: ErrorFacts) => SvcError = ClientConfigError,
  code = "invalid_option",
): asserts ok {
  if (!ok) throw new type({ code, message, param: message.split("`")[1] });
}
