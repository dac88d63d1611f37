import type { Receiver } from "@svc-webhooks/core";
import type { Handler } from "hono";

/**
 * Hono tells a handler's context from where it is given, not from what a call like this one returns.
 * A call that may return its own argument is the exception: so `c.env` is typed without annotation.
 */
export type Mounted<Source> = [Source] extends [Receiver | ((c: never) => Receiver)]
  ? Handler
  : [Source] extends [never]
    ? Source
    : "webhooks() takes a receiver, or a function that returns one";
