import { isAccepted } from "../probe.js";
import { PreconditionError } from "../../precondition-error.js";
import type { ReceiverCase } from "./case.js";

const secret =
  "The receiver's secret may differ from the contract's `secret` option. If they are equal, compute HMAC-SHA256 of the raw body with the secret, whsec_ included, as hex digits after sha256=.";
const schemeSecret =
  "The receiver's secret or scheme may differ from those of the contract, or its clock from this machine's.";
const path = "Mount the receiver for POST at the path of the URL.";

/** Returns a possible reason why a working receiver rejects a genuine delivery. */
function causeOf(status: number, isOfScheme: boolean): string {
  if ([404, 405].includes(status)) return path;
  if (![400, 401, 403].includes(status)) return "The receiver's log may state the reason.";
  return isOfScheme ? schemeSecret : secret;
}

/** The case of a genuine delivery, on which all others depend. */
export const genuine: ReceiverCase = {
  title: "handles a genuine delivery and responds with 2xx",
  fix: "The handler must run once per delivery, with the parsed body, and the receiver must then respond.",
  async run(probe) {
    const delivery = await probe.delivery();
    const reply = await probe.send(delivery);
    if (!isAccepted(reply)) {
      const cause = causeOf(reply.status, probe.scheme !== undefined);
      throw new PreconditionError(
        `A genuine delivery got ${reply.status} instead of a 2xx. ${cause}`,
      );
    }
    if (probe.hasHandler && probe.runs.count === 0) {
      throw new PreconditionError(
        "The handler ran 0 times: the response was a 2xx, but the handler did not run. Is the handler registered for email.sent? Does the response wait for it?",
      );
    }
    probe.ranOnce(delivery.eventId);
  },
};
