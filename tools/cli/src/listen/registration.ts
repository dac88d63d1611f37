import { setTimeout as pause } from "node:timers/promises";
import type {
  MaskedSecret,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from "@svc-webhooks/client";
import { Failure } from "../errors.js";
import { deliveryFromSandbox, listFromSandbox } from "../lib/control.js";
import { baseUrlOf, callService, type ServiceContext } from "../lib/service.js";
import type { Context } from "../command.js";

/** The time limit in milliseconds for archiving the endpoint, and for registering it after Ctrl-C. */
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
 * Registers an endpoint for all event types. If Ctrl-C arrives while the service is creating the endpoint, the request
 * may take `graceMs` longer. The response contains the endpoint's id, without which it could not be archived.
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
    if (signal.aborted)
      context.note(
        `An endpoint for ${url} may have been registered. To find its id in a sandbox and archive it, run svc-webhooks service endpoints list.`,
      );
    throw error;
  }
}

/** The endpoint that a command has registered. */
export interface Registered {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
}

/** An endpoint as a sandbox lists it. */
type Listed = Partial<WebhookEndpoint & { readonly secret_hint: MaskedSecret }>;

const look = (context: ServiceContext): Promise<readonly Listed[]> =>
  callService(context, (client) => listFromSandbox<Listed>(client, "endpoints", context.signal));

/**
 * Returns a failure if the endpoint is not in the list, is not active, or has another secret. Otherwise returns
 * undefined.
 */
function lossIn(all: readonly Listed[], { id, secret }: Registered): Failure | undefined {
  const own = all.find((endpoint) => endpoint.webhook_endpoint_id === id);
  if (own?.status !== "active") return goneFailure(id);
  // The client masks every member whose name contains `secret`, so the text must be revealed.
  const hint = own.secret_hint?.reveal();
  return hint === undefined || hint === `…${secret.slice(-4)}` ? undefined : rotatedFailure(id);
}

/** Returns the note about another endpoint with this URL. The sandbox may send an event to both endpoints. */
const noteOf = ({ webhook_endpoint_id: id }: Listed) =>
  `${id} has the same URL, probably from a command that was killed. Its deliveries have another signature. Archive it with svc-webhooks service endpoints archive ${id}.`;

const isArray = (all: unknown): all is readonly Listed[] => Array.isArray(all);

const isUnreachable = (error: unknown) =>
  error instanceof Failure && error.code === "connection_failed";

/**
 * The number of failed polls in a row after which the service counts as down. A single poll may fail during a restart
 * of the service.
 */
const failedLooks = 2;

/**
 * Polls the service every `lookMs` milliseconds. Aborts `gone` with a failure when a sandbox no longer has the
 * endpoint, has archived it, or has rotated its secret. Prints a note about each other endpoint with the same URL, and
 * when the service stops responding or responds again.
 *
 * Resolves when `gone` or the signal of `context` is aborted. Also resolves if, before the first list has arrived, a
 * poll fails for a reason other than a failed connection: the service is then not a sandbox, so it cannot list its
 * endpoints.
 */
export async function watch(
  context: ServiceContext & Pick<Context, "note">,
  registered: Registered,
  gone: AbortController,
  lookMs = 2_000,
): Promise<void> {
  const { note } = context;
  const { id, url } = registered;
  const signal = AbortSignal.any([context.signal, gone.signal]);
  let isFirst = true;
  let failed = 0;
  for (;;) {
    const all = await look({ ...context, signal }).catch((error: unknown) => error);
    if (signal.aborted || (isFirst && !isArray(all) && !isUnreachable(all))) return;
    if (isArray(all)) {
      if (failed >= failedLooks) note("The service responds again.");
      failed = 0;
      const loss = lossIn(all, registered);
      if (loss) return gone.abort(loss);
      const isOther = (listed: Listed) =>
        listed.url === url && listed.status === "active" && listed.webhook_endpoint_id !== id;
      if (isFirst) for (const other of all.filter(isOther)) note(noteOf(other));
    } else {
      failed += 1;
      if (failed === failedLooks)
        note(
          `The service at ${baseUrlOf(context)} no longer responds, so nothing arrives from it. Start it again, or end this command with Ctrl-C.`,
        );
    }
    isFirst &&= !isArray(all);
    await pause(lookMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
  }
}

/**
 * Resolves to the reason why a delivery may be signed with another secret, or to undefined if the service does not show
 * one. If the endpoint is gone or its secret was rotated, also aborts `gone` like {@link watch}.
 */
export async function reasonOf(
  context: ServiceContext,
  registered: Registered,
  gone: AbortController,
  delivery_id: string | undefined,
): Promise<string | undefined> {
  const loss = await look(context).then(
    (all) => lossIn(all, registered),
    () => undefined,
  );
  if (loss) {
    gone.abort(loss);
    return loss.message;
  }
  if (delivery_id === undefined) return undefined;
  const delivery = await callService(context, (client) =>
    deliveryFromSandbox(client, delivery_id, context.signal),
  ).catch(() => undefined);
  const other = delivery?.endpoint_id;
  return typeof other !== "string" || other === registered.id
    ? undefined
    : `The delivery is for the endpoint ${other}, probably registered by a command that was killed. Archive it with svc-webhooks service endpoints archive ${other}.`;
}

const again = "Start this command again. It registers a new endpoint with a new secret.";

const goneFailure = (id: string) =>
  new Failure(
    "endpoint_gone",
    `The sandbox no longer has ${id}, so nothing would arrive. It was restarted or reset, or the endpoint was archived.`,
    again,
  );

const rotatedFailure = (id: string) =>
  new Failure(
    "secret_rotated",
    `The secret of ${id} was rotated, so deliveries have the signature of a secret that this command does not know.`,
    again,
  );

/** Returns whether `gone` was aborted because the sandbox no longer has the endpoint, so nothing is left to archive. */
export const isGone = ({ signal: { reason } }: AbortController): boolean =>
  reason instanceof Failure && reason.code === "endpoint_gone";

/**
 * Archives the endpoint, even after the command was stopped, and prints a note with the result. Does not reject if
 * archiving fails, for example because the service has already stopped.
 *
 * @param archived the note for an endpoint that was archived
 * @param kept the note for an endpoint that may still be registered, because archiving failed
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
