import { ConnectionError, InvalidResponseError, ServerError } from "../errors.js";
import { check, type RequestOptions } from "../options.js";
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
  /** The secrets that verify now, newest first, 10 at most: the `secret` option of `createReceiver`. */
  readonly current: () => readonly SigningSecret[];
  /**
   * Rotates the secret of the endpoint, verifies with the new one and the old ones from then on, and
   * saves them. A delivery that is signed with the new secret before it arrives here is refused, and
   * succeeds when the service tries again. The new secret has a random id.
   *
   * A rotation whose response is lost is repeated, twice at most. If it fails with a ConnectionError,
   * ServerError or InvalidResponseError even so, call it again soon: the service may sign with a secret
   * that nobody has received.
   *
   * @throws what `webhookEndpoints.rotateSecret` and `save` throw
   */
  readonly rotate: (
    client: RotatingClient,
    webhook_endpoint_id: string,
    options?: RequestOptions,
  ) => Promise<void>;
}

/** How often a rotation is made, if responses are lost. */
const mostRotations = 3;

/** A receiver takes no more. */
const mostSecrets = 10;

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
  check(secrets.length > 0, "secrets", "`secrets` must contain the endpoint's current secret.");
  let known = secrets;
  const valid = (now: number) => known.filter(({ expiresAt = Infinity }) => expiresAt > now);
  return {
    current: () => valid(Date.now()),
    async rotate(client, id, options) {
      const { secret } = await rotated(client, id, options);
      const now = Date.now();
      const old = valid(now).map((one) => ({ expiresAt: now + overlapMs, ...one }));
      const latest = { id: crypto.randomUUID(), key: secret.reveal() };
      known = [latest, ...old].slice(0, mostSecrets);
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
      if (!mayHaveRotated(error) || rotation === mostRotations) throw error;
    }
  }
}

/** No response came, or one that is not the service's: a part of it, or a gateway's error. */
const mayHaveRotated = (error: unknown): boolean =>
  [ConnectionError, InvalidResponseError, ServerError].some((type) => error instanceof type);
