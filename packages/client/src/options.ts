import { ClientConfigError } from "./errors.js";
import { systemClock, type ClientClock } from "./http/clock.js";
import type { RequestNote, ResponseNote } from "./http/notes.js";

export interface ClientOptions {
  /** Default: the environment variable `SVC_API_KEY`. */
  readonly apiKey?: string | undefined;
  /** The URL before `/v1`, such as `http://127.0.0.1:4010`. Default: the environment variable `SVC_BASE_URL`. */
  readonly baseUrl?: string | undefined;
  /** Makes the requests. Default: the global `fetch`. It must not follow redirects when `redirect` is `manual`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Milliseconds for a request with all its attempts and pauses: 1 or more. Default 60,000. */
  readonly deadlineMs?: number | undefined;
  /** Milliseconds for one attempt, its response body included: 1 to 2^31 − 1. Default 10,000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Attempts after the first one: 0 to 100. Default 2. */
  readonly maxRetries?: number | undefined;
  /**
   * Called before each attempt. It may add headers such as `traceparent`, and sees no API key. What it
   * throws is ignored.
   */
  readonly onRequest?: ((note: RequestNote) => void) | undefined;
  /** Called after each attempt, also one without a response. What it throws is ignored. */
  readonly onResponse?: ((note: ResponseNote) => void) | undefined;
  /** Replaces time between attempts. For tests only. */
  readonly clock?: ClientClock | undefined;
}

/** The last argument of each operation. Its values win over those of the client. */
export interface RequestOptions {
  /** Ends the request, also while it pauses before a retry. */
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs?: number | undefined;
  readonly attemptTimeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
}

/** The last argument of what may carry an idempotency key. */
export interface KeyedRequestOptions extends RequestOptions {
  /**
   * Identifies the logical request, so that it takes effect once however often it is repeated. 1 or more
   * printable ASCII characters. Default: a random one, the same for all attempts.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The last argument of `redeliver`. */
export interface RedeliverOptions extends RequestOptions {
  /** Needed only where an event has one id for all endpoints. */
  readonly webhook_endpoint_id?: string | undefined;
}

export interface Limits {
  readonly deadlineMs: number;
  readonly attemptTimeoutMs: number;
  readonly maxRetries: number;
}

/** The options with their defaults. */
export interface Connection extends Limits {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly onRequest: (note: RequestNote) => void;
  readonly onResponse: (note: ResponseNote) => void;
  readonly clock: ClientClock;
}

const names: readonly string[] = [
  "apiKey",
  "baseUrl",
  "fetch",
  "deadlineMs",
  "attemptTimeoutMs",
  "maxRetries",
  "onRequest",
  "onResponse",
  "clock",
] satisfies (keyof ClientOptions)[];

const ignore = () => {};

/** @throws ClientConfigError `invalid_option` */
export function resolveOptions(options: ClientOptions): Connection {
  for (const name of Object.keys(options)) {
    const text = `There is no option \`${name}\`. The options are ${names.join(", ")}.`;
    check(names.includes(name), name, text);
  }
  const {
    apiKey = fromEnvironment("SVC_API_KEY"),
    baseUrl = fromEnvironment("SVC_BASE_URL"),
    // Looked up for each request, so that a replaced global is used.
    fetch = (url, init) => globalThis.fetch(url, init),
    onRequest = ignore,
    onResponse = ignore,
    clock = systemClock,
  } = options;
  for (const [name, value] of Object.entries({ fetch, onRequest, onResponse }))
    check(typeof value === "function", name, `\`${name}\` must be a function.`);
  check(
    typeof apiKey === "string" && apiKey !== "",
    "apiKey",
    "There is no API key. Pass `apiKey`, or set the environment variable SVC_API_KEY.",
  );
  check(
    /^[!-~]+$/.test(apiKey),
    "apiKey",
    "The API key contains white space or characters that a header cannot have. Copy it again, and check the line that sets it.",
  );
  const limits = resolveLimits(options, defaults);
  return { apiKey, baseUrl: checkedUrl(baseUrl), fetch, onRequest, onResponse, clock, ...limits };
}

const defaults: Limits = { deadlineMs: 60_000, attemptTimeoutMs: 10_000, maxRetries: 2 };

/** @throws ClientConfigError `invalid_option` */
export function resolveLimits(given: Partial<RequestOptions>, base: Limits): Limits {
  const within = (name: keyof Limits, min: number, max: number) => {
    const value = given[name] ?? base[name];
    const text = `\`${name}\` must be a number from ${min} to ${max}.`;
    check(typeof value === "number" && value >= min && value <= max, name, text);
    return value;
  };
  return {
    deadlineMs: within("deadlineMs", 1, Infinity),
    attemptTimeoutMs: within("attemptTimeoutMs", 1, 2_147_483_647),
    maxRetries: within("maxRetries", 0, 100),
  };
}

function checkedUrl(text: string | undefined): string {
  check(
    text !== undefined && text !== "",
    "baseUrl",
    "There is no base URL. Pass `baseUrl`, or set the environment variable SVC_BASE_URL.",
  );
  const [, url] = /^(https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*?)?)\/*$/i.exec(text) ?? [];
  check(
    url !== undefined && URL.canParse(url) && !url.endsWith("/v1"),
    "baseUrl",
    "The base URL must be the URL before /v1, such as http://127.0.0.1:4010, without a user, query or fragment.",
  );
  return url;
}

/** An empty variable counts as not set. Workers have no environment, and Deno may deny it. */
function fromEnvironment(name: string): string | undefined {
  const { process } = globalThis as {
    readonly process?: { readonly env?: Record<string, string> };
  };
  try {
    return process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}

/** @throws ClientConfigError `invalid_option` if `ok` is false */
export function check(ok: boolean, param: string, message: string): asserts ok {
  if (!ok) throw new ClientConfigError({ code: "invalid_option", message, param });
}
