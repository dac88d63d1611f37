import { isAccepted } from "../probe.js";
import { PreconditionError } from "../../precondition-error.js";
import type { ReceiverCase } from "./case.js";
import * as sources from "./sources.js";

const secret =
  "The receiver's secret may differ from the one that signed the delivery. If they are equal, check how the receiver computes the signature: it must be sha256= followed by the hex digits of the raw body's HMAC-SHA256, keyed with the whole secret, including whsec_.";
const schemeSecret =
  "The receiver's secret or scheme may not match the delivery's, or the receiver's clock may differ from this machine's. Compare them.";
const path = "Make the receiver accept POST requests at the path of the URL.";

/** Returns a hint about why a receiver responds to a genuine delivery with this status. */
function causeOf(status: number, isOfScheme: boolean): string {
  if ([404, 405].includes(status)) return path;
  if (![400, 401, 403].includes(status)) return "The receiver's log may show the reason.";
  return isOfScheme ? schemeSecret : secret;
}

/** The case of a genuine delivery, on which all others depend. */
export const genuine: ReceiverCase = {
  title: "handles a genuine delivery and responds with 2xx",
  level: "must",
  source: sources.signing,
  schemeSource: sources.success,
  fix: "The receiver must run the handler once per delivery, pass it the parsed body, and then respond.",
  async run(probe) {
    const delivery = await probe.delivery();
    const reply = await probe.send(delivery);
    if (!isAccepted(reply)) {
      const cause = causeOf(reply.status, probe.scheme !== undefined);
      throw new PreconditionError(
        `A genuine delivery got a ${reply.status} response instead of a 2xx. ${cause}`,
      );
    }
    if (probe.hasHandler && !(await probe.hasRun())) {
      throw new PreconditionError(
        "The response was a 2xx, but no run of the handler was reported. Register the handler for email.sent (with a scheme, for every type), and let it report each event to the test.",
      );
    }
    await probe.ranOnce(delivery.eventId);
  },
};
