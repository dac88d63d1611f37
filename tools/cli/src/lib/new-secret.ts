import type { WebhookEndpointWithSecret } from "@svc-webhooks/client";
import { Failure } from "../errors.js";
import { secretCharacter } from "./mask.js";

const form = new RegExp(`^whsec_${secretCharacter}{1,506}$`);

/**
 * Returns an endpoint's new secret as text. Refuses a value that is not well-formed, so that the caller can print the
 * result: such a value could be any text, such as an unrelated secret, and no receiver could verify with it.
 *
 * @param done the sentence that states what the service has done
 * @param fix the sentence that states what to do about the endpoint
 * @throws Failure `invalid_response` if the value is not a signing secret
 */
export function newSecret(
  { secret }: Pick<WebhookEndpointWithSecret, "secret">,
  done: string,
  fix: string,
): string {
  // The client wraps only strings as masked secrets, so other values have no `reveal`.
  const value: unknown = typeof secret.reveal === "function" ? secret.reveal() : secret;
  if (typeof value === "string" && form.test(value)) return value;
  throw new Failure(
    "invalid_response",
    `The service sent ${described(value)} as \`secret\`, which must be whsec_ followed by at most 506 printable ASCII characters without spaces. It is not printed. ${done}`,
    `${fix} If this happens again, check SVC_BASE_URL or --base-url: another program may be listening there.`,
  );
}

const described = (value: unknown) =>
  typeof value === "string"
    ? `a string of ${value.length} characters`
    : `a value of type ${Array.isArray(value) ? "array" : typeof value}`;

/** Returns the id of a newly registered endpoint, or undefined if the service did not send one. */
export function idOf({
  webhook_endpoint: endpoint,
}: Pick<WebhookEndpointWithSecret, "webhook_endpoint">): string | undefined {
  const id: unknown = endpoint?.webhook_endpoint_id;
  return typeof id === "string" ? id : undefined;
}
