import { leave } from "./leave.js";

export const messageOf = (error: unknown): string => String((error as Error | undefined)?.message);

/**
 * After a failover that keeps connections, a client would use the demoted primary forever. When a
 * replica rejects a write, a ready client therefore reconnects.
 */
export const leaver =
  (client: object, isReady: () => boolean, reconnect: () => void) =>
  (error: unknown): never => {
    if (isReadOnly(messageOf(error)) && isReady()) leave(client, reconnect);
    throw error;
  };

/** Redis 6.2 wraps the error of a command in a script: `ERR Error running script (…): -READONLY You can't …`. */
export const isReadOnly = (message: string): boolean => /(?:^|-)READONLY /.test(message);
