import { leave } from "./leave.js";

export const messageOf = (error: unknown): string => String((error as Error | undefined)?.message);

/**
 * Returns an error handler that throws the error again. If a replica has rejected a write and the client is ready, the
 * handler first calls `reconnect`, at most every 5 s. After a failover that keeps connections open, the client would
 * otherwise use the demoted primary forever.
 */
export const leaver =
  (client: object, isReady: () => boolean, reconnect: () => void) =>
  (error: unknown): never => {
    if (isReadOnly(messageOf(error)) && isReady()) leave(client, reconnect);
    throw error;
  };

/**
 * Returns whether an error comes from a replica that rejects writes. Redis 6.2 wraps the error of a command in a
 * script: `ERR Error running script (…): -READONLY You can't …`.
 */
export const isReadOnly = (message: string): boolean => /(?:^|-)READONLY /.test(message);
