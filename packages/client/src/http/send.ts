import { errorClass, type SvcError } from "../errors.js";
import type { AttemptNote } from "../notes.js";
import type { Connection, KeyedRequestOptions } from "../options.js";
import type { RawResponse } from "../response-promise.js";
import { abortion, makeAttempt, timeLimit, type AttemptLimit, type Received } from "./attempt.js";
import type { Failure } from "./failure.js";
import { prepare, type Call, type PreparedRequest } from "./prepare.js";
import { readResponse, requestIdOf } from "./response.js";
import { mayRetry, pauseMs } from "./retry.js";

/** A successful request. */
export interface Sent {
  readonly value: unknown;
  readonly idempotencyKey: string | undefined;
  readonly response: RawResponse;
}

/**
 * Makes a request, and repeats it until it succeeds, until a retry would not help, or until no retry or time is left.
 *
 * @throws SvcError
 */
export async function send(
  connection: Connection,
  call: Call,
  options: KeyedRequestOptions,
): Promise<Sent> {
  const { clock, onResponse } = connection;
  const request = prepare(connection, call, options);
  const { method, path, idempotencyKey, signal } = request;
  let last: SvcError | undefined;
  /**
   * The number of attempts that count against `maxRetries`. A 429 does not count, because the request had no effect.
   */
  let counted = 0;
  for (let attempt = 1; ; attempt += 1) {
    if (signal?.aborted) throw errorOf(abortion(signal), request, attempt - 1);
    const limit = limitOf(request, clock.now());
    // No time is left, for example because the process was suspended.
    if (limit.ms <= 0) throw errorOf(limit.failure, request, attempt - 1, last);
    const note = { method, path, attempt, idempotencyKey };
    const startedAt = performance.now();
    const { received, value, failure } = await tryOnce(connection, request, note, limit);
    if (failure && failure.facts.status !== 429) counted += 1;
    const pause = failure && pauseBeforeRetry(failure, request, { attempt, counted }, clock.now());
    void quietly(() =>
      onResponse({
        ...note,
        ms: performance.now() - startedAt,
        status: received?.status,
        requestId: received && requestIdOf(received.headers),
        code: failure?.facts.code,
        retryInMs: pause,
      }),
    );
    if (!failure) return { value, idempotencyKey, response: rawResponse(received, attempt) };
    last = errorOf(failure, request, attempt, last);
    if (pause === undefined) throw last;
    await clock.sleep(pause, signal);
  }
}

type Tried =
  | { readonly failure?: undefined; readonly value: unknown; readonly received: Received }
  | {
      readonly failure: Failure;
      readonly value?: undefined;
      readonly received?: Received | undefined;
    };

async function tryOnce(
  connection: Connection,
  request: PreparedRequest,
  note: AttemptNote,
  limit: AttemptLimit,
): Promise<Tried> {
  const { clock, onRequest, apiKey } = connection;
  const { method, body, idempotencyKey } = request;
  const noted = new Headers({ accept: "application/json" });
  if (body) noted.set("content-type", "application/json");
  void quietly(() => onRequest({ ...note, headers: noted }));
  // Adds the API key and the idempotency key to a copy, because a hook may keep the headers that it received.
  const headers = new Headers(noted);
  headers.set("authorization", `Bearer ${apiKey}`);
  if (idempotencyKey) headers.set("idempotency-key", idempotencyKey);

  const init: RequestInit = { method, headers, body, redirect: "manual" };
  const result = await makeAttempt(connection, init, limit, request);
  return result.failure
    ? result
    : { ...result, ...readResponse(result.received, request, apiKey, clock.now()) };
}

function limitOf(
  { attemptTimeoutMs, deadline, deadlineMs }: PreparedRequest,
  now: number,
): AttemptLimit {
  const left = deadline - now;
  return left < attemptTimeoutMs
    ? timeLimit(left, "deadline_exceeded", deadlineMs)
    : timeLimit(attemptTimeoutMs, "attempt_timeout", attemptTimeoutMs);
}

/** Returns the pause before the next attempt, or undefined if there is none. */
function pauseBeforeRetry(
  failure: Failure,
  { maxRetries, isRepeatable, deadline }: PreparedRequest,
  { attempt, counted }: { readonly attempt: number; readonly counted: number },
  now: number,
): number | undefined {
  const isLast = !maxRetries || counted > maxRetries;
  if (isLast || !mayRetry(failure, isRepeatable)) return undefined;
  const pause = pauseMs(attempt, failure);
  // A pause that would pass the deadline ends the request now, so that the caller need not wait until the deadline.
  return now + pause < deadline ? pause : undefined;
}

function errorOf(
  { kind, facts }: Failure,
  { method, path, idempotencyKey }: PreparedRequest,
  attempts: number,
  last?: SvcError,
): SvcError {
  const context = [
    `${method} ${path}`,
    facts.status,
    facts.code,
    facts.requestId && `request ${facts.requestId}`,
    attempts > 1 && `${attempts} attempts`,
  ];
  const message = `${facts.message} (${context.filter(Boolean).join(", ")})`;
  const cause = facts.code === "deadline_exceeded" ? last : facts.cause;
  return new (errorClass(kind, facts.status))({
    ...facts,
    message,
    cause,
    attempts,
    idempotencyKey,
  });
}

const rawResponse = ({ status, headers, text }: Received, attempts: number): RawResponse => ({
  status,
  headers,
  requestId: requestIdOf(headers),
  attempts,
  text: () => text,
});

/**
 * Calls a hook and ignores its errors, so that they neither fail the request nor, as unhandled rejections, end the
 * process.
 */
async function quietly(hook: () => unknown): Promise<void> {
  try {
    await hook();
  } catch {
    // Not reported, because the client logs nothing.
  }
}
