import { setTimeout as pause } from "node:timers/promises";
import { outcomeIn } from "../lib/outcome.js";
import { readUpTo } from "../lib/read.js";
import type { HeaderList, Target } from "../lib/target.js";
import type { SentEvent } from "./events.js";

/**
 * The pause before each round of retries, in milliseconds. It is shorter than the 5 s of `crashTest()`, to save time.
 */
const retryMs = 300;

/**
 * How long the sender waits for a response, in milliseconds. It is shorter than the 15 s of `crashTest()`, to save
 * time.
 */
const patienceMs = 10_000;

/** The maximum number of attempts per event, not counting those refused because another attempt was in flight. */
const mostAttempts = 15;

/** The maximum number of attempts per event that are refused as `in_flight`. With the pauses, they take a minute. */
const mostInFlight = 200;

const longestResponse = 65_536;

export interface AttemptResult {
  /** The status of the response. Absent if there was none. */
  readonly status?: number | undefined;
  readonly code?: string | undefined;
}

/** Makes attempt `n` to deliver an event to the active server. Resolves to the result. */
export type Attempting = (event: number, n: number) => Promise<AttemptResult>;

export interface SendOptions {
  readonly events: readonly SentEvent[];
  readonly isReversed: boolean;
  readonly attempt: Attempting;
  /** Called after a response with the code `in_flight`: another attempt of the event is running. */
  readonly onInFlight: (event: number) => Promise<void>;
  readonly onAcknowledged: (event: number) => Promise<void>;
  readonly signal: AbortSignal;
}

const isAcknowledged = ({ status = 0 }: AttemptResult) => status >= 200 && status < 300;

/**
 * Delivers each event once, in order or in reverse, and then retries those that are not acknowledged, up to the maximum
 * number of attempts. Resolves to whether each event was acknowledged, in the original order.
 */
export async function deliver(options: SendOptions): Promise<readonly boolean[]> {
  const { events, isReversed, attempt, onInFlight, onAcknowledged, signal } = options;
  const order = events.map((_event, index) => index);
  if (isReversed) order.reverse();
  const sent = events.map(() => 0);
  const refused = events.map(() => 0);
  const done = events.map(() => false);
  const isDue = (event: number) =>
    done[event] === false &&
    (sent[event] ?? 0) - (refused[event] ?? 0) < mostAttempts &&
    (refused[event] ?? 0) < mostInFlight;
  for (let round = 0; order.some(isDue); round += 1) {
    if (round > 0) await pause(retryMs, undefined, { signal });
    for (const event of order.filter(isDue)) {
      const n = (sent[event] ?? 0) + 1;
      sent[event] = n;
      const result = await attempt(event, n);
      if (isAcknowledged(result)) {
        done[event] = true;
        await onAcknowledged(event);
      } else if (result.code === "in_flight") {
        refused[event] = (refused[event] ?? 0) + 1;
        await onInFlight(event);
      }
    }
  }
  return done;
}

/** Sends one request to a server on this machine. Resolves without a status if no complete response arrives in time. */
export async function post(
  target: Target,
  headers: HeaderList,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const either = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  try {
    const response = await target.send({ method: "POST", headers, body }, either);
    const caching = response.headers["cache-control"];
    const { content } = await readUpTo(longestResponse, response);
    return { status: response.statusCode, code: outcomeIn(caching, content.toString()) };
  } catch {
    return {};
  }
}
