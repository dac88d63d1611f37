import { callService, type ServiceContext } from "../lib/service.js";
import type { Context } from "../command.js";

/** An endpoint that exists while the command runs. */
export interface Registration {
  readonly webhook_endpoint_id: string;
  readonly secret: string;
}

/** Milliseconds that the service has after Ctrl-C to register or archive the endpoint. */
const graceMs = 5_000;

/** A signal that is aborted after the other one, by the time of grace. */
function afterGrace(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const end = () => void setTimeout(() => controller.abort(), graceMs).unref();
  if (signal.aborted) end();
  else signal.addEventListener("abort", end);
  return controller.signal;
}

/** Registers an endpoint for all event types. What has begun ends, so that it can be archived. */
export async function register(
  context: ServiceContext & Pick<Context, "note">,
  url: string,
): Promise<Registration> {
  const signal = afterGrace(context.signal);
  try {
    return await callService({ ...context, signal }, async (client) => {
      const event_types: string[] = [];
      for await (const { type } of client.webhookEventTypes.list({ signal })) {
        event_types.push(type);
      }
      context.signal.throwIfAborted();
      const created = await client.webhookEndpoints.create({ url, event_types }, { signal });
      const { webhook_endpoint_id } = created.webhook_endpoint;
      return { webhook_endpoint_id, secret: created.secret.reveal() };
    });
  } catch (error) {
    if (signal.aborted) context.note(`An endpoint for ${url} may have been registered.`);
    throw error;
  }
}

/** Archives the endpoint, although the command has been stopped. */
export const archive = (
  context: ServiceContext,
  { webhook_endpoint_id }: Registration,
): Promise<unknown> => {
  const signal = AbortSignal.timeout(graceMs);
  return callService({ ...context, signal }, ({ webhookEndpoints }) =>
    webhookEndpoints.archive(webhook_endpoint_id, { signal }),
  );
};
