import { webhooks } from "@svc-webhooks/next/pages";
import { contractReceiver } from "@svc-webhooks/testing";

export const config = { api: { bodyParser: false } };

const handlers = {
  none: webhooks(contractReceiver()),
  buffers: webhooks(contractReceiver()),
  truncates: webhooks(contractReceiver()),
};

async function bytesOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export default async function handler(request, response) {
  const { middleware } = request.query;
  if (middleware === "buffers") request.rawBody = await bytesOf(request);
  if (middleware === "truncates") request.rawBody = (await bytesOf(request)).subarray(0, -1);
  return handlers[middleware](request, response);
}
