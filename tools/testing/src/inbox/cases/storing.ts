import { deepEqual, equal, ok } from "node:assert/strict";
import type { DeliveryContext, StoredDelivery } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import { signedDelivery } from "../../signed-delivery.js";
import { mib, type InboxCase, type InboxProbe } from "../probe.js";

const bodies: Readonly<Record<string, string>> = {
  "a byte order mark": '\uFEFF{"type":"email.sent"}',
  "line separators": '{"type":"email.sent","text":"\u2028\u2029"}',
  "an escaped NUL": '{"type":"email.sent","text":"\\u0000"}',
  "a lone surrogate": '{"type":"email.sent","text":"\\ud800"}',
  "duplicate keys": '{"type":"email.sent","a":1,"a":2}',
  "numbers beyond 2^53": '{"type":"email.sent","n":12345678901234567890,"f":1.0}',
  "spaces and escapes": '{ "type" : "email.sent",\r\n"text":"\\u00e9 é 😀" }\n',
};

/** Returns a delivery with a body of exactly `bytes` bytes. */
async function sized(bytes: number): Promise<StoredDelivery> {
  const [start, end] = ['{"type":"email.sent","text":"', '"}'];
  return signedDelivery(`${start}${"x".repeat(bytes - start.length - end.length)}${end}`);
}

async function comesBack(probe: InboxProbe, delivery: StoredDelivery, what: string): Promise<void> {
  const before = probe.runs.length;
  await probe.accept(await probe.process(), delivery);
  await probe.ran(before + 1);
  const { body } = probe.runs[before]?.context.delivery ?? {};
  ok(body && Buffer.from(body).equals(delivery.body), `The body changed: ${what}.`);
}

/** Checks that a receiver refuses the delivery, or that no receiver can be built for deliveries of that size. */
async function isRefused(probe: InboxProbe, large: StoredDelivery): Promise<void> {
  let process;
  try {
    process = await probe.process({ maxBodyBytes: mib });
  } catch (error) {
    if (codeOf(error) === "invalid_option") return;
    throw error;
  }
  const { code } = await probe.receive(process, large);
  equal(code, "queue_unavailable", `The large delivery ended as ${code}.`);
}

/** Cases about storing deliveries in the queue and reading them again. */
export const storing: readonly InboxCase[] = [
  {
    title: "a stored job runs in another process",
    async run(probe) {
      const delivery = await probe.accept(await probe.process());
      equal(probe.runs.length, 0, "The handler ran without a worker.");
      const { key } = await probe.jobOf(delivery);
      await probe.worker();
      await probe.ran(1);
      equal(probe.runs[0]?.context.idempotencyKey, key);
    },
  },
  {
    title: "a job is stored when its delivery ends as enqueued, even if the process dies then",
    needs: ["kill"],
    async run(probe) {
      const first = await probe.process();
      const delivery = await probe.accept(first);
      await first.kill();
      const second = await probe.worker();
      await probe.passes(second);
      probe.ranAs(delivery, [1]);
    },
  },
  {
    title:
      "a delivery that the queue does not store ends as queue_unavailable, and its next attempt is stored",
    needs: ["kill"],
    async run(probe) {
      const delivery = await probe.delivery();
      const first = await probe.process();
      await first.kill();
      const { code, status } = await probe.receive(first, delivery);
      deepEqual({ code, status }, { code: "queue_unavailable", status: 503 });
      const second = await probe.worker();
      await probe.accept(second, delivery);
      await probe.ran(1);
      await probe.passes(second);
      probe.ranAs(delivery, [1]);
    },
  },
  {
    title: "the exact bytes of a body come back",
    async run(probe) {
      await probe.worker();
      for (const [what, body] of Object.entries(bodies)) {
        await comesBack(probe, await signedDelivery(body), what);
      }
    },
  },
  {
    title: "the largest body comes back",
    async run(probe) {
      await probe.worker();
      await comesBack(probe, await sized(Math.min(probe.maxBodyBytes, mib)), "its size");
    },
  },
  {
    title: "a delivery whose body exceeds the queue's limit is refused, and others continue",
    needs: ["limit"],
    async run(probe) {
      const process = await probe.worker();
      const large = await sized(mib);
      await isRefused(probe, large);
      await probe.passes(process);
      probe.ranAs(large, []);
    },
  },
  {
    title: "the headers and the facts of a delivery come back",
    async run(probe) {
      const process = await probe.worker();
      const headers = { "X-SVC-Subscription-Id": "sub_1", "X-SVC-Event-Id": "evt_1" };
      const delivery = await signedDelivery({ type: "email.sent" }, { attempt: 3, headers });
      await probe.accept(process, delivery);
      await probe.ran(1);
      const context: Partial<DeliveryContext> = probe.runs[0]?.context ?? {};
      const { type, deliveryId, source, subscriptionId, eventId, attempt } = context;
      deepEqual(
        { type, deliveryId, source },
        {
          type: "email.sent",
          deliveryId: delivery.headers["x-svc-delivery-id"],
          source: probe.source,
        },
      );
      // An intake has no headers of a request.
      const absent = [undefined, undefined, undefined];
      deepEqual([subscriptionId, eventId, attempt], probe.source ? absent : ["sub_1", "evt_1", 3]);
    },
  },
];
