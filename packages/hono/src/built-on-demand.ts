import { BodyError, codeOf, createReceiver, WebhookError } from "@svc-webhooks/core";
import type { Context } from "hono";
import { checked, type Receives } from "./mounted.js";

/**
 * Calls `make` for the first delivery with a well-formed signature and reuses the receiver that it returns. Until then,
 * a stand-in rejects requests that can be rejected without their body, and reports an error from `make` as
 * `misconfigured`.
 */
export function builtOnDemand(make: (c: Context) => unknown): (c: Context) => Receives {
  let receiver: Receives | undefined;
  let problem: unknown;
  const standIn = createReceiver({
    secret: () => Promise.reject(problem),
    on: { "*": () => {} },
  });

  // The stand-in reads the body only if the method, the encoding and the signature's format are valid.
  const build = async (c: Context): Promise<Uint8Array> => {
    try {
      receiver ??= checked(make(c));
    } catch (error) {
      problem = codeOf(error)
        ? error
        : new WebhookError(
            "misconfigured",
            // Any value can be thrown.
            `The function passed to webhooks() failed: ${String((error as Error | undefined)?.message ?? error)}`,
            { cause: error },
          );
      // The real body is left unread: its size limit is unknown, and a 413 response would lose the event.
      return new Uint8Array();
    }
    // This error stops the stand-in without a logged line.
    throw new BodyError("aborted");
  };

  return (c) =>
    receiver ?? {
      async receive(delivery, options) {
        const outcome = await standIn.receive({
          method: delivery.method,
          headers: (name) =>
            name === "content-length" ? undefined : (c.req.raw.headers.get(name) ?? undefined),
          body: () => build(c),
        });
        return receiver?.receive(delivery, options) ?? outcome;
      },
    };
}
