import { InvalidRequestError } from "../errors.js";
import {
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
  /** It creates a send, so it gets a key. */
  readonly isKeyed?: boolean;
  /** Its success may have no body. */
  readonly mayBeEmpty?: boolean;
}

/** A request as each of its attempts makes it. */
export interface PreparedRequest extends Limits {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: string | null;
  readonly mayBeEmpty: boolean;
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
  { method, path, query = {}, body, isKeyed, mayBeEmpty = false }: Call,
  options: KeyedRequestOptions,
): PreparedRequest {
  const limits = resolveLimits(options, connection);
  const { signal, idempotencyKey = isKeyed ? crypto.randomUUID() : undefined } = options;
  if (idempotencyKey !== undefined && !/^[ -~]*[!-~][ -~]*$/.test(idempotencyKey))
    throw refused("idempotencyKey", "`idempotencyKey` must be printable ASCII text, not empty.");
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) search.set(name, String(value));
  return {
    ...limits,
    method,
    path: search.size === 0 ? path : `${path}?${String(search)}`,
    // Once, so that all attempts have the same bytes.
    body: body === undefined ? null : serialised(body),
    mayBeEmpty,
    idempotencyKey,
    isRepeatable: idempotencyKey !== undefined || (method !== "POST" && method !== "PATCH"),
    signal,
    deadline: connection.clock.now() + limits.deadlineMs,
  };
}

function serialised(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    throw refused("body", `The body cannot be written as JSON: ${String(error)}.`);
  }
}

/** The error of a request that is not made. */
export const refused = (param: string, message: string): InvalidRequestError =>
  new InvalidRequestError({ code: "invalid_request", message, param });
