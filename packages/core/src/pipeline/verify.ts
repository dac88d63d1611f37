import { headerNames } from "../headers.js";
import { endWith, type Ending } from "../outcome.js";
import { andThen, attempt, type MaybePromise } from "../promise.js";
import { matchingSecret } from "../secrets.js";
import { describe } from "../text.js";
import type { Visit } from "../visit.js";

// 1 to 256 visible ASCII characters without the comma, which is what joins two values.
const deliveryIdPattern = /^[!-+\--~]{1,256}$/;

/** Stage 2: who signed these bytes. Other headers are looked at only once the body is the service's own. */
export function verify(visit: Visit): MaybePromise<Ending | undefined> {
  return attempt(
    () => visit.config.secret(),
    (secrets) =>
      andThen(matchingSecret(secrets, visit.bytes, visit.signature), (secret) => {
        if (!secret) return endWith("signature_mismatch");
        if (secret !== secrets[0]) visit.warn("old_secret");
        visit.context.secretId = secret.id;
        return accept(visit);
      }),
    (error) => endWith("misconfigured", describe(error)),
  );
}

/** Takes a verified delivery's unsigned headers, and counts it as pending work. */
export function accept(visit: Visit): Ending | undefined {
  const { header, context } = visit;
  const count = header(headerNames.attempt);
  context.subscriptionId = header(headerNames.subscriptionId) || undefined;
  context.attempt = /^\d{1,9}$/.test(count) ? Number(count) : undefined;

  const deliveryId = header(headerNames.deliveryId);
  if (!deliveryId) return endWith("delivery_id_missing");
  if (!deliveryIdPattern.test(deliveryId)) return endWith("delivery_id_malformed");
  context.deliveryId = deliveryId;

  const repeated = header(headerNames.idempotencyKey) || deliveryId;
  if (repeated !== deliveryId && repeated !== `"${deliveryId}"`) visit.warn("id_mismatch");
  return visit.accept();
}
