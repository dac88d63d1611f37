import { BodyError, createReceiver, WebhookError } from "@svc-webhooks/core";
import { codeOf, headerNames } from "@svc-webhooks/core/adapter";
import type { Context } from "hono";
import { checked, type Receives } from "./mounted.js";

/** A well-formed signature for requests without `X-SVC-Signature`, because a scheme may read another header. */
const anySignature = `sha256=${"0".repeat(64)}`;

const headerOf = ({ req }: Context, name: string) =>
  req.raw.headers.get(name) ?? (name === headerNames.signature ? anySignature : undefined);

/**
 * Calls `make` for the first request that may be a delivery and reuses the receiver that it returns. Until then, a
 * stand-in receiver rejects requests that no receiver accepts, and reports an error from `make` as `misconfigured`.
 */
export function builtOnDemand(make: (c: Context) => unknown): (c: Context) => Receives {
  let receiver: Receives | undefined;
  let problem: unknown;
  const standIn = createReceiver({
    secret: () => Promise.reject(problem),
    on: { "*": () => {} },
  });

  // The stand-in calls this only if the method, the encoding and the form of the service's signature, if any, are
  // valid.
  const build = async (c: Context): Promise<Uint8Array> => {
    try {
      receiver ??= checked(make(c));
    } catch (error) {
      problem = codeOf(error)
        ? error
        : new WebhookError(
            "misconfigured",
            `The function passed to webhooks() failed: ${String((error as Error | undefined)?.message ?? error)}`,
            { cause: error },
          );
      // The real body is left unread: its size limit is unknown, and a 413 response would lose the event.
      return new Uint8Array();
    }
    // This error stops the stand-in; `aborted` is not logged.
    throw new BodyError("aborted");
  };

  return (c) =>
    receiver ?? {
      async receive(delivery, options) {
        const outcome = await standIn.receive({
          // A scheme may respond to the query of a GET request.
          method: delivery.url?.includes("?") ? "POST" : delivery.method,
          headers: (name) => (name === "content-length" ? undefined : headerOf(c, name)),
          body: () => build(c),
        });
        return receiver?.receive(delivery, options) ?? outcome;
      },
    };
}
