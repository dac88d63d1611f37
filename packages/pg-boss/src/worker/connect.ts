import { codeOf } from "@svc-webhooks/core/adapter";
import type { PgBossLike } from "../pg-boss-like.js";

/** The longest pause between two attempts to start, in milliseconds. */
const longestMs = 30_000;
/** The shortest time between two `"error"` events, in milliseconds. */
const emitMs = 60_000;

/**
 * The codes of errors that waiting does not fix: a missing database or role, a wrong password, a missing privilege, and
 * options that pg-boss refuses.
 */
const lasting = new Set(["3D000", "28000", "28P01", "42501", "ERR_ASSERTION"]);

/**
 * Starts pg-boss and then calls `start`. Retries both after an error that waiting may fix, such as an unavailable
 * database. Emits the cause as an `"error"`, at most once a minute. Rejects with the latest error if waiting would not
 * fix it, or as soon as `boss` is stopped. `start` must tolerate another call after it has failed.
 */
export async function connect(boss: PgBossLike, start: () => Promise<void>): Promise<void> {
  let end: (() => void) | undefined;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    end?.();
  };
  boss.once("stopped", stop);
  try {
    for (let ms = 500, emittedAt = -Infinity; ; ms = Math.min(2 * ms, longestMs)) {
      try {
        // Resolves without an effect if `boss` has already started.
        await boss.start({ attempts: 1 });
        await start();
        return;
      } catch (error) {
        const { message, code } = Object(error) as { message?: unknown; code?: unknown };
        const isOwn = codeOf(error) !== undefined && codeOf(error) !== "queue_unavailable";
        if (isStopped || isOwn || lasting.has(String(code))) throw error;
        if (performance.now() - emittedAt >= emitMs) {
          emittedAt = performance.now();
          // Uses the code if the message is empty, as in the error for a host with two addresses that both refuse.
          const cause = String(message || code);
          const text = `pg-boss did not start. \`work\` retries. Cause: ${cause}`;
          boss.emit("error", new Error(text, { cause: error }));
        }
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        if (isStopped) throw error;
      }
    }
  } finally {
    boss.removeListener("stopped", stop);
  }
}
