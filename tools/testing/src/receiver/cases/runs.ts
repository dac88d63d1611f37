import { headerNames } from "@svc-webhooks/core/adapter";
import type { Reply } from "../../http-sender.js";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { signingOf } from "../../signing.js";
import { expectAccepted, isAccepted, type ReceiverProbe, type UniqueDelivery } from "../probe.js";
import type { ReceiverCase } from "./case.js";
import { graceMs, pause } from "../../pause.js";
import * as sources from "./sources.js";

/** Sends the delivery with the given attempt number, as the service does when it retries. */
const repeat = (probe: ReceiverProbe, delivery: UniqueDelivery, attempt: number) =>
  probe.send({
    ...delivery,
    headers: { ...delivery.headers, [headerNames.attempt]: String(attempt) },
  });

/**
 * Sends a delivery and, while its handler runs, a copy. When the copy has a response, or has had time to start another
 * run, calls `end` to finish the first run. If `end` rejects, the first run fails.
 */
async function withCopy(
  probe: ReceiverProbe,
  end: () => unknown,
): Promise<{ readonly delivery: UniqueDelivery; readonly first: Reply; readonly copy: Reply }> {
  const delivery = await probe.delivery();
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const started = new Promise<void>((resolve) => {
    probe.runs.behavior = (run) => {
      if (run > 1) return;
      resolve();
      return released.then(end);
    };
  });
  const original = repeat(probe, delivery, 1);
  await Promise.race([started, original]);
  const repeated = repeat(probe, delivery, 2);
  // Waits only briefly, because a receiver may delay the response to the copy until the first run has ended.
  await Promise.race([repeated, pause(graceMs)]);
  release();
  const [first, copy] = await Promise.all([original, repeated]);
  return { delivery, first, copy };
}

/** A text in the handler's error message that a receiver's own texts do not contain. */
const marker = crypto.randomUUID();
const failedRun = () => Promise.reject(new Error(`the handler has failed (${marker})`));
const failFirst = (run: number) => (run === 1 ? failedRun() : undefined);

/** Returns the headers of a delivery with `idOf(name)` as the value of each id header. Undefined omits the header. */
const underIds = (delivery: UniqueDelivery, idOf: (name: string) => string | undefined) => ({
  ...delivery.headers,
  ...Object.fromEntries(
    [...signingOf(delivery).idHeaders, headerNames.eventId]
      .filter((name) => delivery.headers[name] !== undefined)
      .map((name) => [name, idOf(name)]),
  ),
});

const signsId = (sender: Sender) => sender.signsId;

/** Cases that check how often the handler runs and whether the response reflects the result. */
export const runs: readonly ReceiverCase[] = [
  {
    title: "responds to unknown event types with 2xx",
    level: "should",
    source: sources.typeList,
    schemeSource: sources.success,
    fix: "A sender may retry after any other status, so accept types that have no handler. Look up handlers in a Map, because some types are also the names of properties that every object has.",
    async run(probe) {
      for (const type of ["email.unheard_of", "constructor", "__proto__"]) {
        const delivery = await probe.delivery((event_id) => ({ event_id, type, data: {} }));
        expectAccepted(await probe.send(delivery), `An event of the type ${type}`);
      }
    },
  },
  {
    title: "handles a repeated delivery once, and responds to each copy with 2xx",
    level: "should",
    source: sources.idempotent,
    schemeSource: sources.idempotencyKey,
    showsOnlyInRuns: true,
    fix: "A sender may repeat a delivery if it receives no 2xx in time. Record each handled delivery, and respond to copies with 200.",
    async run(probe) {
      const delivery = await probe.delivery();
      for (const attempt of [1, 2, 3]) {
        expectAccepted(await repeat(probe, delivery, attempt), `Attempt ${attempt}`);
      }
      await probe.ranOnce(delivery.eventId);
    },
  },
  {
    title: "responds to a copy with 2xx only after the handler has succeeded",
    level: "should",
    source: sources.success,
    fix: "A 2xx ends the retries, so the event is lost if the first run then fails. Respond to copies with 503 until the first run has succeeded.",
    needsHandler: true,
    async run(probe) {
      const { copy } = await withCopy(probe, failedRun);
      await probe.ran();
      if (isAccepted(copy) && probe.runs.succeeded === 0) {
        throw new Error("A copy got a 2xx response, but then the first run failed.");
      }
    },
  },
  {
    title: "runs the handler once for copies that arrive at the same time",
    level: "should",
    source: sources.idempotent,
    schemeSource: sources.idempotencyKey,
    fix: "If you check for a record before the handler runs and write it afterward, both copies get through. Claim the event in one atomic step before the handler runs.",
    needsHandler: true,
    async run(probe) {
      const { delivery, first } = await withCopy(probe, () => {});
      expectAccepted(first);
      if (probe.runs.mostConcurrent > 1)
        throw new Error("The handler ran for both copies at the same time.");
      await probe.ranOnce(delivery.eventId);
    },
  },
  {
    title: "responds with a 4xx or 5xx status if the handler fails",
    level: "should",
    source: sources.success,
    fix: "A 2xx ends the retries, so the event is lost. Await the handler, and respond with 500 if it rejects.",
    needsHandler: true,
    async run(probe) {
      probe.runs.behavior = () => pause(graceMs).then(failedRun);
      const { status } = await probe.send(await probe.delivery());
      await probe.ran();
      if (status < 400) throw new Error(`The handler failed, but the response was ${status}.`);
    },
  },
  {
    title: "runs a failed handler again on the next attempt",
    level: "should",
    source: sources.redeliver,
    schemeSource: sources.success,
    fix: "If you record an id before the handler has succeeded, the retry is treated as a copy. Record the id afterward, or remove it if the handler fails.",
    needsHandler: true,
    async run(probe) {
      probe.runs.behavior = failFirst;
      const delivery = await probe.delivery();
      await repeat(probe, delivery, 1);
      expectAccepted(await repeat(probe, delivery, 2), "The attempt after a failed run");
      if (probe.runs.succeeded !== 1) throw new Error("The handler did not run again.");
    },
  },
  {
    title: "does not reveal the message or stack of the handler's error",
    level: "should",
    source: sources.leaks,
    fix: "The sender of the request can read the response. Log the error, and respond with a fixed text.",
    needsHandler: true,
    async run(probe) {
      probe.runs.behavior = failedRun;
      const { headers, body } = await probe.send(await probe.delivery());
      await probe.ran();
      const response = JSON.stringify(headers) + body;
      if (
        response.includes(marker) ||
        /node_modules|\.[jt]s:\d|Traceback \(most recent call last\)/.test(response)
      ) {
        throw new Error(
          "The response contains the message or the stack trace of the handler's error.",
        );
      }
    },
  },
  {
    title: "does not handle a captured body again under another delivery id or without one",
    level: "should",
    source: sources.exactBytes,
    schemeSource: sources.idempotencyKey,
    fix: "The signature does not cover the headers. Recognize copies by an id in the signed body, or by the body itself.",
    needsHandler: true,
    isSkippedFor: signsId,
    async run(probe) {
      const delivery = await probe.delivery();
      await probe.send(delivery);
      for (const id of [`dlv_${crypto.randomUUID()}`, undefined]) {
        await probe.send({ ...delivery, headers: underIds(delivery, () => id) });
      }
      await probe.ranOnce(delivery.eventId);
    },
  },
  {
    title: "handles an event even if a captured body was sent under its delivery id",
    level: "should",
    source: sources.exactBytes,
    schemeSource: sources.idempotencyKey,
    fix: "Anyone who has captured one delivery could block any other whose id they can predict. Recognize copies by an id in the signed body, not by an unsigned header.",
    needsHandler: true,
    isSkippedFor: signsId,
    async run(probe) {
      const [captured, next] = [await probe.delivery(), await probe.delivery()];
      await probe.send(captured);
      await probe.send({
        ...captured,
        headers: underIds(captured, (name) => next.headers[name]),
      });
      await probe.handles(next);
    },
  },
];
