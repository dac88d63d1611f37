import { describeKeys } from "#hmac";
import { matchingSecret, type KnownSecret } from "../crypto/keys.js";
import { headerNames } from "../delivery.js";
import { describe } from "../lib/text.js";
import type { DeliveryState } from "./delivery-state.js";
import { setDeliveryId } from "./delivery-id.js";
import { attempt, follow } from "./drive.js";
import { endWith, type Ending, type StepResult } from "./ending.js";

/** Stage 2: verifies the signature. Only then are the service's other headers read. */
export const verify = (state: DeliveryState): StepResult =>
  attempt(state, readSecrets, match, unreadable);

const readSecrets = ({ config }: DeliveryState) => config.secret.read();

const unreadable = (_state: DeliveryState, error: unknown) =>
  endWith("misconfigured", describe(error));

function match(state: DeliveryState, secrets: readonly KnownSecret[]): StepResult {
  state.secrets = secrets;
  return follow(state, matchingSecret(secrets, state.bytes, state.signature), matched);
}

function matched(state: DeliveryState, secret: KnownSecret | undefined): Ending | undefined {
  if (!secret) return endWith("signature_mismatch", mismatchIn(state));
  const { context, config, secrets } = state;
  context.secretId = secret.id;
  const ending = accept(state);
  config.log.verified(context.subscriptionId);
  if (secret !== secrets[0]) state.warn("old_secret");
  return ending;
}

/** Returns a function that describes the configured keys. It is called only for the mismatches that are logged. */
const mismatchIn =
  ({ config, bytes, signature }: DeliveryState) =>
  () =>
    describeKeys(config.secret.known(), config.clock.now(), bytes, signature, config.scheme);

/**
 * Reads the service's unsigned headers, unless there is a scheme, then counts the delivery as pending work. Returns an
 * ending if the delivery id is unusable, or if the receiver is draining or full.
 */
export function accept(state: DeliveryState): Ending | undefined {
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
