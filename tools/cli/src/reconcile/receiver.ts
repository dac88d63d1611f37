import { setTimeout } from "node:timers/promises";
import type { Receiver, ConfigError } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import { Failure, UsageError } from "../errors.js";
import { causeOf, exportOf, loadModule } from "../lib/module.js";

/** The part of a receiver that reads records. */
export type Records = Pick<Receiver, "peek">;

const example =
  'Create a module such as: import { receiver } from "./webhooks.js"; export default receiver; It must not start a server.';

/** How long calls that do not reach the store are repeated, and the pause between two calls, in milliseconds. */
const connectingMs = 10_000;
const pauseMs = 200;

/** The clock functions that a test can replace. */
interface Time {
  /** Returns the milliseconds since any fixed moment. */
  readonly now: () => number;
  /** Waits between two calls. */
  readonly pause: (signal: AbortSignal) => Promise<unknown>;
}

const systemTime: Time = {
  now: () => performance.now(),
  pause: (signal) => setTimeout(pauseMs, undefined, { signal }),
};

/**
 * Imports the receiver of `--receiver`, and reads a record that does not exist, so that a store that cannot be read is
 * reported before the service is called.
 *
 * @throws UsageError, Failure, ConfigError or the reason of `signal` (as rejections)
 */
export async function loadRecords(
  file: string,
  signal: AbortSignal,
  { now, pause }: Time = systemTime,
): Promise<Records> {
  const module = await loadModule("--receiver", file, "receiver_failed", example, signal);
  const receiver = exportOf(module, "receiver", isReceiver);
  if (!receiver) {
    throw new UsageError(
      `--receiver ${file} exports no receiver by default or as \`receiver\`.`,
      "Write: export default receiver;",
    );
  }
  const read = async (targets: Parameters<Records["peek"]>[0], ...repeated: readonly string[]) => {
    const startedAt = now();
    for (;;) {
      try {
        return await receiver.peek(targets);
      } catch (error) {
        const isRepeated = repeated.includes(codeOf(error) ?? "");
        if (!isRepeated || now() >= startedAt + connectingMs) throw storeFailure(error, file);
      }
      await pause(signal);
    }
  };
  // Repeats this call after a timeout too, because the store's client in the imported module may still be connecting.
  await read([{ deliveryId: "svc-webhooks-reconcile" }], "not_sent", "store_timeout");
  return { peek: (targets) => read(targets, "not_sent") };
}

/** Returns whether a value is a receiver, not a store: `peek` of a store does not find records by delivery id. */
function isReceiver(value: unknown): value is Records {
  const { peek, claim } = Object(value) as Readonly<Record<string, unknown>>;
  return typeof peek === "function" && claim === undefined;
}

/**
 * Converts an error of `peek` to a Failure with a fix. Returns an error about an option other than `body` unchanged.
 */
function storeFailure(error: unknown, file: string): unknown {
  const code = codeOf(error);
  if (code === "invalid_option" && (error as ConfigError).option === "body") {
    return new Failure(
      "missing_body",
      `The receiver of --receiver ${file} finds a record by the body of its delivery (dedupeBy), and the service does not list bodies.`,
      'Use dedupeBy: "delivery", or call reconcile() of svc-webhooks/reconcile with a `map` that returns the bodies.',
      { cause: error },
    );
  }
  // This error is passed on, because its message names the option and the fix.
  if (code === "invalid_option") return error;
  return new Failure(
    code === "store_timeout" ? code : "store_failed",
    `The store of --receiver ${file} failed: ${causeOf(error)}.`,
    "Check that its server runs, and that the module connects to it.",
    { cause: error },
  );
}
