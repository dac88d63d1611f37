import { Claims } from "./claims.js";
import { isGenuine } from "./signature.js";

export interface Headers {
  readonly [lowerCaseName: string]: string | readonly string[] | undefined;
}

/** What a mail event looks like to whoever trusts the sender's schema. */
export interface Event {
  readonly type: string;
}

export type Handle = (event: Event) => unknown;

export interface ByHandOptions {
  readonly secret: string;
  readonly on: Readonly<Record<string, Handle>>;
}

/**
 * A receiver as a careful user writes it on a good day: signature in constant time over the raw
 * bytes, in-flight copies refused, done only after the handler, given back when it throws. Answers
 * the status to send.
 *
 * What it leaves out: leases, so a handler that hangs blocks its event for ever; time limits; who may
 * see errors; several secrets; reports.
 */
export function receiverByHand({ secret, on }: ByHandOptions) {
  const claims = new Claims();
  const handlers = new Map(Object.entries(on));

  return async (headers: Headers, body: Buffer): Promise<number> => {
    const signature = headers["x-svc-signature"];
    const id = headers["x-svc-delivery-id"];
    if (typeof signature !== "string" || !isGenuine(body, signature, secret)) return 401;
    if (typeof id !== "string" || id === "") return 400;

    let event: Event | null;
    try {
      event = JSON.parse(body.toString()) as Event | null;
    } catch {
      return 400;
    }
    if (typeof event?.type !== "string") return 400;
    const handle = handlers.get(event.type);
    if (!handle) return 200;

    const state = claims.claim(id);
    if (state !== "claimed") return state === "done" ? 200 : 503;
    try {
      await handle(event);
      claims.complete(id);
      return 200;
    } catch {
      claims.release(id);
      return 500;
    }
  };
}
