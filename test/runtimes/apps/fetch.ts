import { contractReceiver, type Before } from "@svc-webhooks/testing";
import { touched, ways } from "./before.js";

const receivers = new Map(ways.map((before) => [before, contractReceiver()]));

/** A receiver alone, as it serves where a module exports a `fetch`. */
export async function fetchApp(
  request: Request,
  env: unknown,
  context: { waitUntil?(work: Promise<unknown>): void } | undefined,
): Promise<Response> {
  const before = new URL(request.url).pathname.split("/").at(-1) as Before;
  const receiver = receivers.get(before);
  if (!receiver) return new Response(null, { status: 404 });
  return receiver.fetch(await touched(request, before), env, context);
}
