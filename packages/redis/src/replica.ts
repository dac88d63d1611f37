export const messageOf = (error: unknown): string => String((error as Error | undefined)?.message);

const pauseMs = 5_000;
/** By client, because stores can share one; in the time of `performance.now()`. */
const leftAt = new WeakMap<object, number>();

/**
 * After a failover that keeps connections, a client would use the demoted primary for ever. Where a
 * replica has refused a write, `leave` makes the client connect again: at most every 5 s, so that it
 * stays connected where all there is are replicas.
 */
export const leaver =
  (client: object, isReady: () => boolean, leave: () => void) =>
  (error: unknown): never => {
    const now = performance.now();
    if (
      isReadOnly(messageOf(error)) &&
      isReady() &&
      now >= (leftAt.get(client) ?? -Infinity) + pauseMs
    ) {
      leftAt.set(client, now);
      leave();
    }
    throw error;
  };

/** Redis 6.2 wraps what a script was refused: `ERR Error running script (…): -READONLY You can't …`. */
export const isReadOnly = (message: string): boolean => /(?:^|-)READONLY /.test(message);
