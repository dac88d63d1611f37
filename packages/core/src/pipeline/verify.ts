import { headerNames } from "../headers.js";
import { endWith, type Ending } from "../outcome.js";
import { matchingSecret, type KnownSecret } from "../secrets.js";
import { describe } from "../text.js";
import type { Visit } from "../visit.js";

// 1 to 256 visible ASCII characters without the comma, which is what joins two values.
const deliveryIdPattern = /^[!-+\--~]{1,256}$/;

/** Stage 2: whose bytes these are. Other headers are looked at only once the body is the service's own. */
export async function verify(visit: Visit): Promise<Ending | undefined> {
  const { config, header, facts } = visit;

  let secrets: readonly KnownSecret[];
  try {
    secrets = await config.secret();
  } catch (error) {
    return endWith("misconfigured", describe(error));
  }
  const secret = await matchingSecret(secrets, visit.bytes, visit.signature);
  if (!secret) return endWith("signature_mismatch");
  if (secret !== secrets[0]) visit.warn("old_secret");
  facts.secretId = secret.id;
  facts.subscriptionId = header(headerNames.subscriptionId) || undefined;
  facts.attempt = Number(header(headerNames.attempt)) || undefined;

  const deliveryId = header(headerNames.deliveryId);
  if (!deliveryId) return endWith("delivery_id_missing");
  if (!deliveryIdPattern.test(deliveryId)) return endWith("delivery_id_malformed");
  facts.deliveryId = deliveryId;

  const repeated = header(headerNames.idempotencyKey) || deliveryId;
  if (repeated !== deliveryId && repeated !== `"${deliveryId}"`) visit.warn("id_mismatch");
  return undefined;
}
