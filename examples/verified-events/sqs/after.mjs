// A Lambda function that consumes an SQS queue and reports the messages that failed (ReportBatchItemFailures).
import { createIntake } from "svc-webhooks";
import { effect } from "../effect.mjs";
import { store } from "../store.mjs";

const intake = createIntake({
  name: "orders",
  store,
  sources: ["sqs"],
  on: { "order.paid": (order) => effect(order.id) },
});

/** Returns a message as an event. A message that is not JSON is refused, so it must not stop the others. */
function eventOf({ messageId, body }) {
  try {
    return { source: "sqs", id: JSON.parse(body).id, body };
  } catch {
    return { source: "sqs", id: messageId, body };
  }
}

export async function handler({ Records }) {
  const outcomes = await intake.acceptAll(Records.map(eventOf), { concurrency: 10 });
  const failed = Records.filter((_record, index) => outcomes[index].status >= 300);
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}
