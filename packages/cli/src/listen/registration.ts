import { callService, type ServiceContext } from "../lib/service.js";

/** An endpoint that exists while the command runs. */
export interface Registration {
  readonly webhook_endpoint_id: string;
  readonly secret: string;
}

/** Registers an endpoint for all event types. */
export const register = (context: ServiceContext, url: string): Promise<Registration> =>
  callService(context, async ({ webhookEndpoints, webhookEventTypes }) => {
    const { signal } = context;
    const event_types: string[] = [];
    for await (const { type } of webhookEventTypes.list({ signal })) event_types.push(type);
    const { webhook_endpoint, secret } = await webhookEndpoints.create(
      { url, event_types },
      { signal },
    );
    return {
      webhook_endpoint_id: webhook_endpoint.webhook_endpoint_id,
      secret: secret.reveal(),
    };
  });

/** Milliseconds that the end of the command may take. */
const archiveMs = 5_000;

/** Archives the endpoint, although the command has been stopped. */
export const archive = (
  context: ServiceContext,
  { webhook_endpoint_id }: Registration,
): Promise<unknown> => {
  const signal = AbortSignal.timeout(archiveMs);
  return callService({ ...context, signal }, ({ webhookEndpoints }) =>
    webhookEndpoints.archive(webhook_endpoint_id, { signal }),
  );
};
