// A Lambda function that consumes an SQS queue and reports the messages that failed (ReportBatchItemFailures).
import { effect } from "../effect.mjs";

const handle = (order) => effect(order.id);

export async function handler({ Records }) {
  const batchItemFailures = [];
  for (const { messageId, body } of Records) {
    try {
      await handle(JSON.parse(body));
    } catch (error) {
      console.error(error);
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  return { batchItemFailures };
}
