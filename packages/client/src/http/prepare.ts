import { InvalidRequestError } from "../errors.js";
import {
  check,
  checkNames,
  resolveLimits,
  type Connection,
  type KeyedRequestOptions,
  type Limits,
} from "../options.js";

/** A request of an operation. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Begins with a slash, and has no query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** It may carry an idempotency key: always, or if the caller passes one. */
  readonly key?: "always" | "optional";
  /** A repetition after a lost response does no harm. */
  readonly mayRepeat?: boolean | undefined;
  /** Its success may have no body. */
  readonly mayBeEmpty?: boolean;
  /** The member that its success must have. */
  readonly result?: "send_id" | "secret";
}

/** A request as each of its attempts makes it. */
export interface PreparedRequest extends Limits {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: string | null;
  readonly call: Call;
  readonly idempotencyKey: string | undefined;
  /** It takes effect once, however often it is processed. */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | undefined;
  /** Epoch milliseconds. */
  readonly deadline: number;
}

/** @throws ClientConfigError, InvalidRequestError */
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
  check(!signal || signal instanceof AbortSignal, "`signal` must be an AbortSignal.");
  const idempotencyKey =
    options.idempotencyKey ?? (key === "always" ? crypto.randomUUID() : undefined);
  checkRequest(
    idempotencyKey === undefined ||
      (typeof idempotencyKey === "string" && /^[!-~]([ -~]*[!-~])?$/.test(idempotencyKey)),
    "`idempotencyKey` must be printable ASCII text without spaces around it.",
  );
  checkRequest(body === undefined || method !== "GET", "`body` is not sent with GET. Use `query`.");
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value != null) search.set(name, String(value));
  return {
    ...limits,
    method,
    path: call.path + (search.size ? `?${String(search)}` : ""),
    // The body is encoded once, so that all attempts have the same bytes.
    body: serialised(body),
    call,
    idempotencyKey,
    isRepeatable: mayRepeat || idempotencyKey !== undefined || !/^P(OST|ATCH)$/.test(method),
    signal,
    deadline: connection.clock.now() + limits.deadlineMs,
  };
}

function serialised(body: unknown): string | null {
  try {
    return JSON.stringify(body) ?? null;
  } catch (error) {
    checkRequest(false, `\`body\` must be a JSON value: ${String(error)}.`);
  }
}

/**
 * Checks as {@link check} does.
 *
 * @throws InvalidRequestError if `ok` is false: the request is not made
 */
export function checkRequest(ok: boolean, message: string): asserts ok {
  check(ok, message, InvalidRequestError, "invalid_request");
}
