import { BodyError, createReceiver } from "@svc-webhooks/core";
import type { Context } from "hono";
import { checked, type Receives } from "./mounted.js";

/**
 * The receiver that `make` returns for the first delivery with a well-formed signature; it is kept.
 * Until then a stand-in refuses what needs no body, and reports what `make` throws as `misconfigured`.
 */
export function builtOnDemand(make: (c: Context) => unknown): (c: Context) => Receives {
  let receiver: Receives | undefined;
  let problem: unknown;
  const standIn = createReceiver({
    secret: () => Promise.reject(problem),
    on: { "*": () => {} },
  });

  // The stand-in asks for the body once the method, the encoding and the signature's form are right.
  const build = async (c: Context): Promise<Uint8Array> => {
    try {
      receiver ??= checked(make(c));
    } catch (error) {
      problem = error;
      // The real body stays unread: it is of no use, its limit is unknown, and 413 would lose the event.
      return new Uint8Array();
    }
    // Ends the stand-in's part without a line.
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
