export const messageOf = (error: unknown): string => String((error as Error | undefined)?.message);

const pauseMs = 5_000;
/** Per client, because stores can share one; times are from `performance.now()`. */
const leftAt = new WeakMap<object, number>();

/**
 * After a failover that keeps connections, a client would use the demoted primary forever. When a
 * replica rejects a write, `leave` makes the client reconnect: at most every 5 s, so that a client that
 * can reach only replicas stays connected in between.
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

/** Redis 6.2 wraps the error of a command in a script: `ERR Error running script (…): -READONLY You can't …`. */
export const isReadOnly = (message: string): boolean => /(?:^|-)READONLY /.test(message);
