import { InvalidRequestError } from "../errors.js";
import {
  check,
  checkNames,
  checkSignal,
  resolveLimits,
  type Connection,
  type KeyedRequestOptions,
  type Limits,
} from "../options.js";

/** The request that an operation makes. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path, beginning with a slash, without a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  /** The body, sent as JSON. */
  readonly body?: unknown;
  /** When the request carries an idempotency key: always, or only if the caller passes one. Default: never. */
  readonly key?: "always" | "optional";
  /** Whether to repeat the request after a lost response even if it may then take effect twice. Default false. */
  readonly mayRepeat?: boolean | undefined;
  /** Whether a successful response may have no body. */
  readonly mayBeEmpty?: boolean;
  /** A member that a successful response must have. */
  readonly result?: "send_id" | "secret";
}

/** A prepared request, shared by all its attempts. */
export interface PreparedRequest extends Limits {
  readonly method: string;
  /** The path, including the query. */
  readonly path: string;
  readonly body: string | null;
  readonly call: Call;
  readonly idempotencyKey: string | undefined;
  /**
   * Whether the request may be repeated after a lost response, either because it still takes effect only once, or
   * because `mayRepeat` permits it.
   */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | undefined;
  /** The deadline in epoch milliseconds. */
  readonly deadline: number;
}

/**
 * Prepares the request of an operation.
 *
 * @throws ClientConfigError, InvalidRequestError
 */
export function prepare(
  connection: Connection,
  call: Call,
  options: KeyedRequestOptions,
): PreparedRequest {
  const { query = {}, body, key, mayRepeat } = call;
  const method = call.method.toUpperCase();
  checkNames(options, key ? ["signal", "idempotencyKey"] : ["signal"]);
  const limits = resolveLimits(options, connection);
  const { signal } = options;
  checkSignal(options);
  const idempotencyKey =
    options.idempotencyKey ?? (key === "always" ? crypto.randomUUID() : undefined);
  checkRequest(
    idempotencyKey === undefined ||
      (typeof idempotencyKey === "string" && /^[!-~]([ -~]*[!-~])?$/.test(idempotencyKey)),
    "`idempotencyKey` must be printable ASCII text without leading or trailing spaces.",
  );
  checkRequest(
    body === undefined || method !== "GET",
    "GET requests cannot have a `body`. Use `query`.",
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value != null) search.set(name, String(value));
  return {
    ...limits,
    method,
    path: call.path + (search.size ? `?${String(search)}` : ""),
    // Serializes the body once, so that all attempts send the same bytes.
    body: serialized(body),
    call,
    idempotencyKey,
    isRepeatable: mayRepeat || idempotencyKey !== undefined || !/^P(OST|ATCH)$/.test(method),
    signal,
    deadline: connection.clock.now() + limits.deadlineMs,
  };
}

function serialized(body: unknown): string | null {
  try {
    return JSON.stringify(body) ?? null;
  } catch (error) {
    checkRequest(false, `\`body\` must be a JSON value: ${String(error)}.`);
  }
}

/**
 * Asserts that a request is valid, as {@link check} does for options.
 *
 * @throws InvalidRequestError if `ok` is false, before the request is made
 */
export function checkRequest(ok: boolean, message: string): asserts ok {
  check(ok, message, InvalidRequestError, "invalid_request");
}
