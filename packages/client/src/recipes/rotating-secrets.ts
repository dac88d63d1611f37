import { ClientConfigError, ConnectionError } from "../errors.js";
import type { RequestOptions } from "../options.js";
import type { Secret } from "../secret.js";

/** A signing secret as a receiver's `secret` option takes it. */
export interface SigningSecret {
  readonly id: string;
  /** The text: `whsec_…`. */
  readonly key: string;
  /** Epoch milliseconds after which it verifies nothing. */
  readonly expiresAt?: number;
}

export interface RotatingSecretsOptions {
  /** The secrets to begin with, newest first, at least one. */
  readonly secrets: readonly SigningSecret[];
  /**
   * Stores the secrets for the next start and for other processes. `rotate` rejects with its error; the
   * new secret is in use nevertheless, because the service shows it once.
   */
  readonly save: (secrets: readonly SigningSecret[]) => void | Promise<void>;
  /** Milliseconds for which an old secret verifies. Default 28 hours: longer than any retry of a delivery. */
  readonly overlapMs?: number | undefined;
}

/** What a rotation needs of the client. */
export interface RotatingClient {
  readonly webhookEndpoints: {
    readonly rotateSecret: (
      id: string,
      options?: RequestOptions,
    ) => Promise<{ readonly secret: Secret }>;
  };
}

/** The secrets of an endpoint, over its rotations. */
export interface RotatingSecrets {
  /** The secrets that verify now, newest first: the `secret` option of `createReceiver`. */
  readonly current: () => readonly SigningSecret[];
  /**
   * Rotates the secret of the endpoint, verifies with the new one and the old ones from then on, and
   * saves them. A delivery that is signed with the new secret before it arrives here is refused, and
   * succeeds when the service tries again.
   */
  readonly rotate: (
    client: RotatingClient,
    webhook_endpoint_id: string,
    options?: RequestOptions,
  ) => Promise<void>;
}

/** How often a rotation whose response was lost is repeated. */
const mostRotations = 3;

/**
 * Keeps the secrets of an endpoint, so that a rotation loses no delivery.
 *
 * @throws ClientConfigError `invalid_option` if there is no secret
 *
 * @example
 * ```ts
 * import { createClient, rotatingSecrets } from "@svc-webhooks/client";
 *
 * const stored = [{ id: "first", key: "whsec_…" }];
 * const secrets = rotatingSecrets({ secrets: stored, save: () => {} });
 * // createReceiver({ secret: secrets.current, on: … })
 *
 * export const rotate = () => secrets.rotate(createClient(), "we_…");
 * ```
 */
export function rotatingSecrets({
  secrets,
  save,
  overlapMs = 28 * 3_600_000,
}: RotatingSecretsOptions): RotatingSecrets {
  if (secrets.length === 0)
    throw new ClientConfigError({
      code: "invalid_option",
      message: "`secrets` must contain the endpoint's current secret.",
      param: "secrets",
    });
  let known = secrets;
  const valid = (now: number) => known.filter(({ expiresAt = Infinity }) => expiresAt > now);
  return {
    current: () => valid(Date.now()),
    async rotate(client, id, options) {
      const { secret } = await rotated(client, id, options);
      const now = Date.now();
      const old = valid(now).map((one) => ({ expiresAt: now + overlapMs, ...one }));
      known = [{ id: new Date(now).toISOString(), key: secret.reveal() }, ...old];
      await save(known);
    },
  };
}

/** Nobody knows the secret of a response that was lost, so another rotation does no harm. */
async function rotated(
  { webhookEndpoints }: RotatingClient,
  id: string,
  options: RequestOptions | undefined,
) {
  for (let rotation = 1; ; rotation += 1) {
    try {
      return await webhookEndpoints.rotateSecret(id, options);
    } catch (error) {
      if (!(error instanceof ConnectionError) || rotation === mostRotations) throw error;
    }
  }
}
