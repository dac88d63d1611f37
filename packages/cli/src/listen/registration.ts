import type { WebhookEndpointWithSecret } from "@svc-webhooks/client";
import { callService, type ServiceContext } from "../lib/service.js";
import type { Context } from "../command.js";

/** How long the service may take after Ctrl-C to register or archive the endpoint, in milliseconds. */
const graceMs = 5_000;

/** Returns a signal that is aborted `graceMs` after `signal`. */
function afterGrace(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const end = () => void setTimeout(() => controller.abort(), graceMs).unref();
  if (signal.aborted) end();
  else signal.addEventListener("abort", end);
  return controller.signal;
}

/**
 * Registers an endpoint for all event types. A call in progress is completed despite Ctrl-C, so that the endpoint can
 * be archived.
 */
export async function register(
  context: ServiceContext & Pick<Context, "note">,
  url: string,
): Promise<WebhookEndpointWithSecret> {
  const signal = afterGrace(context.signal);
  try {
    return await callService({ ...context, signal }, async (client) => {
      const event_types: string[] = [];
      for await (const { type } of client.webhookEventTypes.list({ signal })) {
        event_types.push(type);
      }
      context.signal.throwIfAborted();
      return client.webhookEndpoints.create({ url, event_types }, { signal });
    });
  } catch (error) {
    if (signal.aborted) context.note(`An endpoint for ${url} may have been registered.`);
    throw error;
  }
}

/** Archives the endpoint, even after the command was stopped. */
export const archive = (context: ServiceContext, id: string): Promise<unknown> => {
  const signal = AbortSignal.timeout(graceMs);
  return callService({ ...context, signal }, ({ webhookEndpoints }) =>
    webhookEndpoints.archive(id, { signal }),
  );
};
