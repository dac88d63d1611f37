import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { OutcomeCode } from "@svc-webhooks/core";
import type { SignedDelivery } from "@svc-webhooks/testing";
import type { Sending } from "@svc-webhooks/testing/forgeries";
import { messageOf } from "../errors.js";
import { outcomeIn } from "../lib/outcome.js";
import { readUpTo } from "../lib/read.js";
import type { Target } from "../lib/target.js";
import { ConnectionError, explainTls } from "../lib/tls.js";

/** The id and the attempt number of a genuine delivery. */
export interface Delivered {
  /** Default: a new id. */
  readonly deliveryId?: string;
  /** Used only for the service. Default 1. */
  readonly attempt?: number;
}

/** A request to a receiver. Without `headers`, it is a genuine delivery of `body`. */
export interface Probe extends Delivered, Pick<Sending, "method" | "headers"> {
  /** A description of the request. */
  readonly name: string;
  readonly body: Uint8Array;
  /**
   * How the body is sent. `pieces` sends the second half up to 300 ms after the first. `half` sends the first half and
   * then closes the connection. Default: the whole body immediately.
   */
  readonly how?: "pieces" | "half";
}

export interface Reply {
  readonly name: string;
  /** The response status, or null if there was no response. */
  readonly status: number | null;
  /** The reason for a missing response: `timeout`, or the connection error. Null if there was a response. */
  readonly error: string | null;
  /** The reason why no TLS connection was established. Absent in all other cases. */
  readonly tls?: string;
  /** The outcome code, if the receiver uses svc-webhooks. */
  readonly code?: OutcomeCode;
  readonly location?: string;
  /** The pause that a 429 response demands, in milliseconds, at least 1,000. Absent for any other status. */
  readonly retry_after_ms?: number;
  /** Whether the response arrived before the whole body was sent. Always false if `how` is undefined. */
  readonly early: boolean;
  readonly ms: number;
}

/** The default event type of the probes, which no sender sends. */
export const probeType = "svc-webhooks.doctor";

const betweenPiecesMs = 300;

const longestReply = 65_536;

export const isSuccess = ({ status }: Reply): boolean =>
  status !== null && status >= 200 && status < 300;

export type Send = (probe: Probe) => Promise<Reply>;

export interface SendOptions {
  readonly target: Target;
  /** Creates a genuine delivery of a body. */
  readonly deliver: (body: Uint8Array, delivered: Delivered) => Promise<SignedDelivery>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called for each valid `Date` header. `ms` is how far it is ahead of this machine's clock; negative if behind. */
  readonly onSkew: (ms: number) => void;
}

export const newDeliveryId = (): string => `dlv_doctor_${randomUUID()}`;

export const newEventId = (): string => `evt_doctor_${randomUUID()}`;

/** Returns the event id in a probe's body, for the header that repeats it. If the body has none, returns a new id. */
export const eventIdOf = (body: Uint8Array): string =>
  /evt_doctor_[\w-]+/.exec(new TextDecoder().decode(body))?.[0] ?? newEventId();

/**
 * Returns a function that sends one probe. Without a response, the status of the reply is null. The function rejects
 * only after an abort, or if the delivery cannot be signed or its headers cannot be sent.
 */
export function sender({ target, deliver, timeoutMs, signal, onSkew }: SendOptions): Send {
  return async (probe) => {
    const { name, body, method = "POST", how } = probe;
    const headers = Object.entries(probe.headers ?? (await deliver(body, probe)).headers).flatMap(
      ([header, value]) => [value ?? []].flat().map((line) => [header, line] as const),
    );
    const start = performance.now();
    const timeout = AbortSignal.timeout(timeoutMs);
    let isSent = false;
    let early = false;
    const either = AbortSignal.any([timeout, signal]);
    const outgoing = target.open({ method, headers, length: body.length }, either);
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", (message) => {
        early = !isSent;
        const date = Date.parse(message.headers.date ?? "");
        if (!Number.isNaN(date)) onSkew(date - Date.now());
        resolve(message);
      });
      outgoing.on("error", reject);
      outgoing.once("close", () => reject(new Error("closed")));
    });
    const result = response.then(readReply).catch(async (error: unknown) => {
      const explained = await explainTls(error, target.url);
      return {
        status: null,
        error: timeout.aborted ? "timeout" : messageOf(error),
        ...(explained instanceof ConnectionError && {
          error: explained.code,
          tls: explained.message,
        }),
      };
    });
    if (how === undefined) {
      outgoing.end(body);
      isSent = true;
    } else {
      outgoing.write(body.subarray(0, body.length / 2));
      await Promise.race([pause(betweenPiecesMs), result]);
      if (how === "half") outgoing.destroy();
      else if (!outgoing.destroyed) outgoing.end(body.subarray(body.length / 2));
      isSent = true;
    }
    const reply = { name, error: null, ...(await result), early };
    signal.throwIfAborted();
    return { ...reply, ms: Math.round(performance.now() - start) };
  };
}

async function readReply(response: IncomingMessage) {
  const { content } = await readUpTo(longestReply, response);
  const { location, "cache-control": caching, "retry-after": retryAfter } = response.headers;
  const code = outcomeIn(caching, content.toString());
  return {
    status: response.statusCode ?? null,
    ...(code === undefined ? {} : { code }),
    ...(location === undefined ? {} : { location }),
    ...(response.statusCode === 429 ? { retry_after_ms: retryAfterMs(retryAfter) } : {}),
  };
}

/**
 * Parses `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3). Returns milliseconds: at least 1,000, and
 * 1,000 for an empty or invalid value.
 */
function retryAfterMs(value = ""): number {
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? 1_000 : Math.max(ms, 1_000);
}
