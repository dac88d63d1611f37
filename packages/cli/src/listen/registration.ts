import { setTimeout as pause } from "node:timers/promises";
import type { Client, WebhookEndpoint, WebhookEndpointWithSecret } from "@svc-webhooks/client";
import { Failure } from "../errors.js";
import { listFromSandbox } from "../lib/control.js";
import { idOf } from "../lib/new-secret.js";
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
      const registered = await client.webhookEndpoints.create({ url, event_types }, { signal });
      await noteOthers(context, client, url, idOf(registered));
      return registered;
    });
  } catch (error) {
    if (signal.aborted) context.note(`An endpoint for ${url} may have been registered.`);
    throw error;
  }
}

/** Names the other endpoints with this URL, if the service is a sandbox. Each would receive every event too. */
async function noteOthers(
  { note, signal }: Pick<Context, "note" | "signal">,
  client: Client,
  url: string,
  own: string | undefined,
): Promise<void> {
  const all = await listFromSandbox<WebhookEndpoint>(client, "endpoints", signal).catch(() => []);
  for (const { webhook_endpoint_id: id, status, url: other } of all) {
    if (other !== url || status !== "active" || id === own) continue;
    note(
      `${id} has the same URL, probably from a command that was killed. Its deliveries have another signature. Archive it with svc-webhooks endpoints archive ${id}.`,
    );
  }
}

/** The time between two looks at the endpoint, in milliseconds. */
const lookMs = 2_000;

/**
 * Resolves when a sandbox no longer has the endpoint. Never resolves for another service, whose endpoints cannot be read.
 *
 * @throws the reason of `signal` (as a rejection)
 */
export async function untilGone(context: ServiceContext, id: string): Promise<void> {
  const { signal } = context;
  let isThere: boolean | undefined = true;
  while (isThere !== false) {
    await pause(lookMs, undefined, { signal, ref: false });
    isThere = await callService(context, async (client) => {
      const all = await listFromSandbox<WebhookEndpoint>(client, "endpoints", signal);
      return all.some((one) => one.webhook_endpoint_id === id && one.status === "active");
    }).catch(async (error: unknown) => {
      if (error instanceof Failure && error.code === "sandbox_only") await new Promise(() => {});
      // A sandbox that is being restarted does not respond.
      return undefined;
    });
  }
}

/** Archives the endpoint, even after the command was stopped. */
export const archive = (context: ServiceContext, id: string): Promise<unknown> => {
  const signal = AbortSignal.timeout(graceMs);
  return callService({ ...context, signal }, ({ webhookEndpoints }) =>
    webhookEndpoints.archive(id, { signal }),
  );
};
