import type { Client, WebhookEndpoint } from "@svc-webhooks/client";
import { Failure, UsageError } from "../errors.js";
import { listFromSandbox } from "../lib/control.js";

/** The endpoint whose deliveries are compared. Its URL and status are known only if the service is a sandbox. */
export type Compared = Pick<WebhookEndpoint, "webhook_endpoint_id"> &
  Partial<Pick<WebhookEndpoint, "url" | "status">>;

const listThem = "To see the endpoints, run svc-webhooks service endpoints list.";

/**
 * Resolves to the endpoint with this id, which is not checked if the service is not a sandbox. Without an id, resolves
 * to the sandbox's only active endpoint, or to its only endpoint if none is active.
 *
 * @throws UsageError if the endpoint must be named, Failure `not_found`, and the client's errors (as rejections)
 */
export async function comparedEndpoint(
  client: Client,
  id: string | undefined,
  signal: AbortSignal,
): Promise<Compared> {
  const all = await endpointsOf(client, signal);
  if (!all) {
    if (id !== undefined) return { webhook_endpoint_id: id };
    throw new UsageError(
      "--endpoint is missing: only a sandbox lists its endpoints.",
      "Pass the id that the service returned when the endpoint was created, as --endpoint we_….",
    );
  }
  if (id !== undefined) {
    const endpoint = all.find(({ webhook_endpoint_id }) => webhook_endpoint_id === id);
    if (endpoint) return endpoint;
    throw new Failure("not_found", `The sandbox has no endpoint with the id ${id}.`, listThem);
  }
  const active = all.filter(({ status }) => status === "active");
  const [first, ...others] = active.length > 0 ? active : all;
  if (!first) {
    const create = "Register one with svc-webhooks service endpoints create.";
    throw new Failure("not_found", "The sandbox has no endpoint.", create);
  }
  if (others.length === 0) return first;
  const kind = active.length > 0 ? "active" : "archived";
  throw new UsageError(
    `--endpoint is missing: the sandbox has ${others.length + 1} ${kind} endpoints.`,
    listThem,
  );
}

/** Resolves to the endpoints, newest first, or to undefined if the service is not a sandbox. */
async function endpointsOf(
  client: Client,
  signal: AbortSignal,
): Promise<readonly Compared[] | undefined> {
  try {
    const all = await listFromSandbox<WebhookEndpoint>(client, "endpoints", signal);
    return all.flatMap(({ webhook_endpoint_id, url, status }) =>
      typeof webhook_endpoint_id === "string"
        ? {
            webhook_endpoint_id,
            ...(typeof url === "string" && { url }),
            ...(typeof status === "string" && { status }),
          }
        : [],
    );
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure && error.code === "sandbox_only") return undefined;
    throw error;
  }
}
