import { assertOptions, assertValid } from "../checks.js";
import type { AnyEvent } from "../events.js";
import { isWhole } from "../lib/is-whole.js";
import { longestDelayMs } from "../lib/times.js";
import type { InboxEntry } from "./admin.js";
import {
  assertWhole,
  retryDelays,
  type RetryDelays,
  type RetryLimits,
  type RetryOptions,
} from "./retry.js";

/** The options that the inboxes of several engines have. */
export interface EngineOptions {
  /**
   * The name of the queue, 1 to 200 characters: letters, digits, `_`, `-`, `.` and `/`, not ending in `.dead`. Default
   * `"webhooks"`.
   */
  readonly queue?: string | undefined;
  /** Returns the key of an event, or undefined. Events with the same key run one at a time. */
  readonly partitionBy?: ((event: AnyEvent) => string | undefined) | undefined;
  /** Whether later events of a key run after a dead letter, or wait. `"hold"` needs `partitionBy`. Default `"continue"`. */
  readonly afterDead?: "continue" | "hold" | undefined;
  readonly retry?: RetryOptions | undefined;
  /** Called after `admin.discard` has removed a dead letter. */
  readonly onDiscard?: ((entry: InboxEntry, reason: string) => unknown) | undefined;
}

/** The result of {@link engineOptions}. */
export interface ResolvedEngineOptions {
  readonly partitionBy: EngineOptions["partitionBy"];
  readonly onDiscard: EngineOptions["onDiscard"];
  readonly queue: string;
  /** Whether `afterDead` is `"hold"`. */
  readonly holds: boolean;
  readonly retry: RetryDelays;
}

/**
 * For queues: validates the options that inboxes share, and returns them with their defaults.
 *
 * @param names the options that this inbox has
 * @param limits the limits of the engine for `retry`, if they are narrower
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { engineOptions } from "@svc-webhooks/core/engine";
 *
 * const { queue, retry } = engineOptions({ queue: "mail" }, ["queue", "retry"]);
 * assert.equal(queue, "mail");
 * assert.equal(retry.limit, 20);
 * assert.throws(() => engineOptions({ queue: "mail.dead" }, ["queue"]), { option: "queue" });
 * ```
 */
export function engineOptions(
  options: EngineOptions,
  names: readonly string[],
  limits?: RetryLimits,
): ResolvedEngineOptions {
  assertOptions(options, names);
  const { queue = "webhooks", partitionBy, afterDead = "continue", onDiscard } = options;
  assertValid(
    typeof queue === "string" && /^[\w./-]{1,200}$/.test(queue) && !/\.dead$/i.test(queue),
    "queue",
    "`queue` must have 1 to 200 characters: letters, digits, and `_`, `-`, `.` or `/`. It must not end in `.dead`: such names are reserved for dead letters.",
  );
  for (const [option, value] of Object.entries({ partitionBy, onDiscard })) {
    const isValid = value === undefined || typeof value === "function";
    assertValid(isValid, option, `\`${option}\` must be a function.`);
  }
  assertValid(
    afterDead === "continue" || (afterDead === "hold" && partitionBy),
    "afterDead",
    '`afterDead` must be "continue" or, with `partitionBy`, "hold".',
  );
  const retry = retryDelays(options.retry, limits);
  return { queue, partitionBy, onDiscard, holds: afterDead === "hold", retry };
}

/**
 * For queues: validates the options of `work`, and returns how many jobs the worker runs at a time, 1 … 1,000. Default
 * 16.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { concurrencyOf } from "@svc-webhooks/core/engine";
 *
 * assert.equal(concurrencyOf({}), 16);
 * assert.throws(() => concurrencyOf({ concurrency: 0 }), { option: "concurrency" });
 * ```
 */
export function concurrencyOf(options: { readonly concurrency?: number | undefined } = {}): number {
  assertOptions(options, ["concurrency"]);
  const { concurrency = 16 } = options;
  assertWhole(concurrency, "concurrency", 1, 1_000);
  return concurrency;
}

/**
 * For queues: validates the options of a worker's `stop`, and returns the deadline, 0 … 2,147,483,647 milliseconds.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { deadlineOf } from "@svc-webhooks/core/engine";
 *
 * assert.equal(deadlineOf({ deadlineMs: 20_000 }), 20_000);
 * assert.throws(() => deadlineOf({ deadlineMs: -1 }), { option: "deadlineMs" });
 * ```
 */
export function deadlineOf(options: { readonly deadlineMs: number }): number {
  assertOptions(options, ["deadlineMs"]);
  assertValid(
    isWhole(options.deadlineMs, 0, longestDelayMs),
    "deadlineMs",
    "`deadlineMs` must be a whole number of milliseconds from 0 to 2,147,483,647, such as stop({ deadlineMs: 20_000 }).",
  );
  return options.deadlineMs;
}
