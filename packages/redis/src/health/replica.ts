import { leave } from "./leave.js";

export const messageOf = (error: unknown): string => String((error as Error | undefined)?.message);

/**
 * Returns a function that reconnects a ready client when a replica rejects a write. After a failover that keeps
 * connections open, the client would otherwise use the demoted primary forever.
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
