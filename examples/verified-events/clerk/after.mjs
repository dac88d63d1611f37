// The route of a Next.js app: app/api/webhooks/route.js
import { verifyWebhook } from "@clerk/backend/webhooks";
import { answer, createGuard } from "svc-webhooks";
import { toResponse } from "svc-webhooks/adapter";
import { effect } from "../effect.mjs";
import { store } from "../store.mjs";

const guard = createGuard({ name: "clerk", store, sources: ["clerk-sdk"] });

export async function POST(request) {
  let event;
  try {
    event = await verifyWebhook(request);
  } catch {
    return new Response("The signature is wrong.", { status: 400 });
  }
  const verified = { source: "clerk-sdk", id: request.headers.get("svix-id"), type: event.type };
  return toResponse(request, answer(await guard.run(verified, () => handle(event))));
}

async function handle({ type, data }) {
  if (type === "user.created") await effect(data.id);
}
