import { webhooks } from "@svc-webhooks/next/pages";
import { contractReceiver } from "@svc-webhooks/testing";

export const config = { api: { bodyParser: false } };

const handlers = {
  nothing: webhooks(contractReceiver()),
  keeper: webhooks(contractReceiver()),
  cutter: webhooks(contractReceiver()),
};

async function bytesOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export default async function handler(request, response) {
  const { before } = request.query;
  if (before === "keeper") request.rawBody = await bytesOf(request);
  if (before === "cutter") request.rawBody = (await bytesOf(request)).subarray(0, -1);
  return handlers[before](request, response);
}
