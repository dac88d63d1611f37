import type { Receiver } from "@svc-webhooks/core";
import { assertReceiver } from "@svc-webhooks/core/adapter";
import type { Context } from "hono";

export type Receives = Pick<Receiver, "receive">;

type Handles<C> = (c: C) => Promise<Response>;

/**
 * The handler that `webhooks` returns for a source. TypeScript infers the type of `c` in `webhooks((c) => …)` from the
 * app only if the call may return its own argument; the `never` branch makes that possible, so `c.env` needs no
 * annotation.
 */
export type Mounted<Source> = Source extends Receives
  ? Handles<Context>
  : Source extends (c: infer C) => Receives
    ? Handles<C>
    : [Source] extends [never]
      ? Source
      : "webhooks() accepts a receiver or a function that returns one.";

/**
 * Returns the receiver. Throws for any other value that JavaScript callers can pass, such as a promise of a receiver or
 * undefined.
 */
export function checked(value: unknown): Receives {
  // Nothing awaits this promise, and its rejection must not crash the process.
  if (value instanceof Promise) value.catch(() => {});
  assertReceiver(value);
  return value;
}
