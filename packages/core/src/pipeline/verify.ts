import { describeKeys } from "#hmac";
import { matchingSecret } from "../crypto/keys.js";
import { headerNames } from "../delivery.js";
import { andThen, tryThen } from "../lib/maybe-promise.js";
import { describe } from "../lib/text.js";
import type { MaybePromise } from "../store.js";
import type { UndecodedDelivery } from "./delivery-state.js";
import { setDeliveryId } from "./delivery-id.js";
import { endWith, type Ending } from "./ending.js";

/** Stage 2: verifies the signature. Only then are the service's other headers read. */
export function verify(state: UndecodedDelivery): MaybePromise<Ending | undefined> {
  return tryThen(
    () => state.config.secret.read(),
    (secrets) =>
      andThen(matchingSecret(secrets, state.bytes, state.signature), (secret) => {
        if (!secret) return endWith("signature_mismatch", mismatchIn(state));
        state.context.secretId = secret.id;
        const ending = accept(state);
        state.config.log.verified(state.context.subscriptionId);
        if (secret !== secrets[0]) state.warn("old_secret");
        return ending;
      }),
    (error) => endWith("misconfigured", describe(error)),
  );
}

/** Returns a function that describes the configured keys. It is called only for the mismatches that are logged. */
const mismatchIn =
  ({ config, bytes, signature }: UndecodedDelivery) =>
  () =>
    describeKeys(config.secret.known(), config.clock.now(), bytes, signature, config.scheme);

/**
 * Reads the service's unsigned headers, then counts the verified delivery as pending work. Returns an ending if the
 * delivery id is unusable, or if the receiver is draining or full.
 */
export function accept(state: UndecodedDelivery): Ending | undefined {
  const { header, context, config } = state;
  if (!config.scheme) {
    const count = header(headerNames.attempt);
    context.subscriptionId = header(headerNames.subscriptionId) || undefined;
    context.attempt = /^\d{1,9}$/.test(count) ? Number(count) : undefined;

    const deliveryId = header(headerNames.deliveryId);
    const ending = setDeliveryId(state, deliveryId);
    if (ending) return ending;

    const repeated = header(headerNames.idempotencyKey) || deliveryId;
    if (repeated !== deliveryId && repeated !== `"${deliveryId}"`) state.warn("id_mismatch");
  }
  return state.accept();
}
