import type { DeliveryStore } from "@svc-webhooks/core";

/** The calls of a store that a receiver makes. */
export type Operation = "claim" | "complete" | "release" | "extend";

/** From a receiver process to the demo. */
export type FromReceiver =
  | { readonly url: string }
  | { readonly run: number; readonly fence: number }
  | {
      readonly call: number;
      readonly operation: Operation;
      /** All parameters but the last, which holds a signal and cannot be sent. */
      readonly parameters: readonly unknown[];
    };

/** The result of a store call, from the demo to the receiver process that made it. */
export interface ToReceiver {
  readonly call: number;
  readonly result: Awaited<ReturnType<DeliveryStore[Operation]>>;
}
