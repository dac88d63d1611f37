import type { Receiver } from "@svc-webhooks/core";
import type { Context } from "hono";

export type Receives = Pick<Receiver, "receive">;

type Answers<C> = (c: C) => Promise<Response>;

/**
 * Hono tells a handler's context from where it is given, not from what a call like this one returns.
 * A call that may return its own argument is the exception: so `c.env` is typed without annotation.
 */
export type Mounted<Source> = Source extends Receives
  ? Answers<Context>
  : Source extends (c: infer C) => Receives
    ? Answers<C>
    : [Source] extends [never]
      ? Source
      : "webhooks() takes a receiver, or a function that returns one";

/** What types cannot refuse in JavaScript: a promise of a receiver, or nothing. */
export function checked(value: unknown): Receives {
  if (typeof (value as Partial<Receives> | undefined)?.receive === "function") {
    return value as Receives;
  }
  // It is never awaited; if it rejects, that must not end the process.
  if (value instanceof Promise) value.catch(() => {});
  throw new TypeError("webhooks() takes a receiver, or a function that returns one");
}
