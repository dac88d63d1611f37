import { acceptor, type ByHandOptions, type Headers } from "./accept.js";
import { Claims } from "./claims.js";

/**
 * A receiver as a careful user writes it on a good day: signature in constant time over the raw
 * bytes, in-flight copies refused, done only after the handler, given back when it throws. Answers
 * the status to send.
 *
 * What it leaves out: leases, so a handler that hangs blocks its event for ever; time limits; who may
 * see errors; several secrets; reports.
 */
export function receiverByHand(options: ByHandOptions) {
  const accept = acceptor(options);
  const claims = new Claims();

  return async (headers: Headers, body: Buffer): Promise<number> => {
    const accepted = accept(headers, body);
    if (typeof accepted === "number") return accepted;
    const { id, event, handle } = accepted;

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
