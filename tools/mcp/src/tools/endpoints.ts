import type { Client, WebhookEndpoint } from "@svc-webhooks/client";
import { listFromSandbox } from "@svc-webhooks/cli/workbench";
import { Refusal } from "../refusal.js";

/**
 * Resolves to the id of an active endpoint of the sandbox: `wanted` or, if that is undefined, the only active endpoint.
 *
 * @throws Refusal (as a rejection) `no_endpoint` if no endpoint is active; `endpoint_needed` if `wanted` is not active,
 *   or if it is undefined although several endpoints are active
 */
export async function activeEndpoint(
  client: Client,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const endpoints = await listFromSandbox<WebhookEndpoint>(client, "endpoints", signal);
  const ids = endpoints
    .filter(({ status }) => status === "active")
    .map(({ webhook_endpoint_id }) => String(webhook_endpoint_id));
  const [only, ...others] = ids;
  if (only === undefined) {
    throw new Refusal(
      "no_endpoint",
      "The sandbox has no active endpoint, so nothing is delivered.",
      "Ask the user to register the receiver, for example with svc-webhooks service endpoints create --url http://localhost:3000/webhooks --event email.sent --event email.delivered.",
    );
  }
  if (wanted === undefined && others.length === 0) return only;
  if (wanted !== undefined && ids.includes(wanted)) return wanted;
  throw new Refusal(
    "endpoint_needed",
    wanted === undefined
      ? "The sandbox has several active endpoints."
      : "The sandbox has no active endpoint with the id in `endpoint`.",
    "Set `endpoint` to the id of an active endpoint. The field `untrusted` lists the ids.",
    [["ids of the endpoints", ids.join(" ")]],
  );
}
