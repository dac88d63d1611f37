import { setTimeout as pause } from "node:timers/promises";
import type { Client, WebhookEndpoint, WebhookEndpointWithSecret } from "@svc-webhooks/client";
import { Failure } from "../errors.js";
import { deliveryFromSandbox, listFromSandbox } from "../lib/control.js";
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

/**
 * Looks at the endpoint every `lookMs` milliseconds, and aborts `gone` with a failure when a sandbox no longer has it.
 * Resolves when there is nothing more to look for: then, when either signal is aborted, and for a service that is not a
 * sandbox, because its endpoints cannot be read.
 */
export async function watch(
  context: ServiceContext,
  id: string,
  gone: AbortController,
  lookMs = 2_000,
): Promise<void> {
  const signal = AbortSignal.any([context.signal, gone.signal]);
  let isWatched = true;
  while (isWatched) {
    await pause(lookMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    isWatched = await callService({ ...context, signal }, async (client) => {
      const all = await listFromSandbox<WebhookEndpoint>(client, "endpoints", signal);
      return all.some((one) => one.webhook_endpoint_id === id && one.status === "active");
    }).then(
      (isThere) => {
        if (!isThere) gone.abort(goneFailure(id));
        return isThere;
      },
      // A sandbox that is being restarted does not respond.
      (error: unknown) => !(error instanceof Failure && error.code === "sandbox_only"),
    );
  }
}

/** Returns the id of the endpoint that a delivery is for, or undefined if the service does not state it. */
export const endpointOf = (context: ServiceContext, delivery_id: string): Promise<unknown> =>
  callService(context, (client) => deliveryFromSandbox(client, delivery_id, context.signal)).then(
    (delivery) => delivery?.endpoint_id,
    () => undefined,
  );

const goneFailure = (id: string) =>
  new Failure(
    "endpoint_gone",
    `The sandbox no longer has ${id}, so nothing would arrive. It was restarted or reset, or the endpoint was archived.`,
    "Start this command again. It registers a new endpoint with a new secret.",
  );

/**
 * Archives the endpoint, even after the command was stopped, and notes the result. If that fails, for example because
 * the service has already stopped, the command does not fail.
 *
 * @param archived the line for an endpoint that was archived
 * @param kept the line for an endpoint that may still be registered
 */
export async function leave(
  context: ServiceContext & Pick<Context, "note">,
  id: string,
  { archived, kept }: { readonly archived: string; readonly kept: string },
): Promise<void> {
  const signal = AbortSignal.timeout(graceMs);
  const line = await callService({ ...context, signal }, ({ webhookEndpoints }) =>
    webhookEndpoints.archive(id, { signal }),
  ).then(
    () => archived,
    (error: unknown) =>
      error instanceof Failure && error.code === "not_found" ? `${id} no longer exists.` : kept,
  );
  context.note(line);
}
