import { testKeys as generated, type SchemeName, type TestKeys } from "@svc-webhooks/schemes/sign";

/**
 * Resolves to new random keys of a scheme: `secret` for the receiver and `signingSecret` for `signedDelivery`. They
 * differ for a scheme with a pair of keys.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "@svc-webhooks/core";
 * import { discord } from "@svc-webhooks/schemes";
 * import { signedDelivery, testKeys } from "@svc-webhooks/testing/schemes";
 *
 * const { secret, signingSecret } = await testKeys("discord");
 * const receiver = createReceiver({ scheme: discord(), secret, on: { "*": () => {} }, log: () => {} });
 *
 * const delivery = await signedDelivery({}, { scheme: "discord", secret: signingSecret });
 * assert.equal((await receiver.receive(delivery)).code, "processed");
 * ```
 */
export const testKeys: (scheme: SchemeName) => Promise<TestKeys> = generated;
