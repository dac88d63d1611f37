// The route of a Next.js app: app/api/webhooks/route.js
import { verifyWebhook } from "@clerk/backend/webhooks";
import { effect } from "../effect.mjs";

export async function POST(request) {
  let event;
  try {
    event = await verifyWebhook(request);
  } catch {
    return new Response("The signature is wrong.", { status: 400 });
  }
  await handle(event);
  return new Response("Received.");
}

async function handle({ type, data }) {
  if (type === "user.created") await effect(data.id);
}
