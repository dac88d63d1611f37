import type { SenderName, TestKeys } from "./senders/sender.js";
import type { Signer } from "./senders/signer.js";
import { senders } from "./senders/table.js";

export { hmacSigner } from "./senders/hmac-signers.js";
export type { SenderName, Signer, TestKeys };
export type { SignOptions } from "./senders/signer.js";
export type { HmacOptions } from "./lib/hmac-options.js";

/**
 * The `sign` function of each of the `senders`, by name. It signs bodies as the sender does, for tests and tools.
 *
 * @example
 * ```ts
 * import { signers } from "svc-webhooks/schemes/sign";
 *
 * const body = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
 * console.log(await signers.stripe(body, { secret: "whsec_test" }));
 * ```
 */
export const signers = Object.fromEntries(
  Object.values(senders).map(({ name, sign }) => [name, sign]),
) as Readonly<Record<SenderName, Signer>>;

/**
 * Resolves to new random keys of a sender, so that tests and tools need no key material.
 *
 * @example
 * ```ts
 * import { signers, testKeys } from "svc-webhooks/schemes/sign";
 *
 * const { secret, signingSecret } = await testKeys("discord");
 * const headers = await signers.discord('{"type":0}', { secret: signingSecret });
 * console.log("a receiver with the secret", secret, "accepts", headers);
 * ```
 */
export const testKeys = (name: SenderName): Promise<TestKeys> => senders[name].testKeys();
