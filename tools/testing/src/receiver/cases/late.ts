import { fixture } from "../../fixture.js";
import { tamper } from "../../tamper.js";
import type { ReceiverCase } from "./case.js";
import { graceMs, pause } from "../../pause.js";
import * as sources from "./sources.js";
import { forged } from "./strangers.js";

/** Creates the event of these cases. The repository's intentionally broken receivers recognize it by its subject. */
const observed = (event_id: string) =>
  fixture("email.sent", { event_id, data: { subject: "Observed" } });

/** Cases that check for runs of the handler after the response. */
export const late: readonly ReceiverCase[] = [
  {
    title: "does not run the handler after refusing a delivery",
    level: "must",
    source: sources.authentication,
    schemeSource: sources.unknownSource,
    fix: "Sending a response does not end the function. Return after each refusal.",
    needsHandler: true,
    async run(probe) {
      const delivery = await probe.delivery(observed);
      await probe.refuses(await forged(delivery), "A forgery");
      await probe.refuses(tamper.missingHeader(delivery), "A delivery without a signature");
      await pause(graceMs);
      probe.neverRan("A delivery that was refused");
    },
  },
  {
    title: "does not run the handler again after the response",
    level: "should",
    source: sources.idempotent,
    schemeSource: sources.idempotencyKey,
    fix: "An event that is also queued or forwarded is handled twice. Run the handler in one place only.",
    needsHandler: true,
    async run(probe) {
      const delivery = await probe.delivery(observed);
      await probe.handles(delivery);
      await pause(graceMs);
      await probe.ranOnce(delivery.eventId);
    },
  },
];
