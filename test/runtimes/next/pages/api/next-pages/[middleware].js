import { buffer } from "node:stream/consumers";
import { webhooks } from "@svc-webhooks/next/pages";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";

export const config = { api: { bodyParser: false } };

const handlers = {
  none: webhooks(contractReceiver()),
  buffers: webhooks(contractReceiver()),
  truncates: webhooks(contractReceiver()),
};

export default async function handler(request, response) {
  const { middleware } = request.query;
  if (middleware === "buffers") request.rawBody = await buffer(request);
  if (middleware === "truncates") request.rawBody = (await buffer(request)).subarray(0, -1);
  return handlers[middleware](request, response);
}
