import type { DeliveryStore } from "@svc-webhooks/core";

/** A command of a test to the worker: a call of the store or of all its objects. */
export interface Command {
  readonly shards: number;
  readonly call:
    | Exclude<keyof DeliveryStore, "shared" | "check">
    | "advance"
    | "clear"
    | "evict"
    | "count"
    | "alarm";
  readonly given: readonly unknown[];
}
