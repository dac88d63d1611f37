import { eventType } from "../deliveries.js";

/** What all contenders run for a genuine event. */
export type Handle = (event: unknown) => Promise<void>;

/** `hold` makes runs wait from now on, until `finish` or `fail` ends them; `count` changes nothing. */
export type Order = "count" | "hold" | "finish" | "fail";

export interface Handler {
  readonly handle: Handle;
  /** Answers how many runs there were so far. */
  readonly obey: (order: Order) => number;
}

/** A handler that counts, and that waits and fails on order. */
export function handlerUnderOrders(): Handler {
  let runs = 0;
  let held: Promise<void> | undefined;
  let end: (error?: Error) => void;

  return {
    // Asynchronous, as handlers are that have something to do.
    async handle(event) {
      // Who hands over something else has not done the same work.
      if ((event as { type?: unknown }).type !== eventType)
        throw new TypeError("not what was sent");
      runs += 1;
      if (held) await held;
    },

    obey(order) {
      switch (order) {
        case "count":
          break;
        case "hold":
          held = new Promise((resolve, reject) => {
            end = (error) => (error ? reject(error) : resolve());
          });
          // It may fail while nobody runs.
          held.catch(() => {});
          break;
        case "finish":
        case "fail":
          end(order === "fail" ? new Error("failed on order") : undefined);
          held = undefined;
      }
      return runs;
    },
  };
}
