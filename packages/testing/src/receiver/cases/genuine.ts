import { isAccepted } from "../probe.js";
import { PreconditionError } from "../../precondition-error.js";
import type { ReceiverCase } from "./case.js";

const secret =
  "The receiver's secret may differ from the contract's `secret` option. If they are equal, compute HMAC-SHA256 of the raw body with the secret, whsec_ included, as hex digits after sha256=.";
const path = "Mount the receiver for POST at the path of the URL.";

/** Possible reasons why a working receiver rejects a genuine delivery, by status. */
const causes: ReadonlyMap<number, string> = new Map([
  [400, secret],
  [401, secret],
  [403, secret],
  [404, path],
  [405, path],
]);

/** The case of a genuine delivery, on which all others depend. */
export const genuine: ReceiverCase = {
  title: "handles a genuine delivery and responds with 2xx",
  fix: "A delivery needs one run of the handler, with the parsed body, and then a response.",
  async run(probe) {
    const delivery = await probe.delivery();
    const reply = await probe.send(delivery);
    if (!isAccepted(reply)) {
      const cause = causes.get(reply.status) ?? "The receiver's log may have the reason.";
      throw new PreconditionError(
        `A genuine delivery got ${reply.status} instead of a 2xx. ${cause}`,
      );
    }
    if (probe.hasHandler && probe.runs.count === 0) {
      throw new PreconditionError(
        "The handler ran 0 times: a 2xx came, but the handler did not run. Is it mounted for email.sent? Does the response wait for it?",
      );
    }
    probe.ranOnce(delivery.eventId);
  },
};
