import { isText } from "./http/checks.js";
import { check, type RequestOptions, type RotateOptions } from "./options.js";
import type { MaskedSecret } from "./secret.js";

/** A signing secret in the form that a receiver's `secret` option accepts. */
export interface SigningSecret {
  readonly id: string;
  /** The text: `whsec_…`. */
  readonly key: string;
  /** The time from which the secret is no longer accepted, in epoch milliseconds. */
  readonly expiresAt?: number | undefined;
}

export interface RotatingSecretsOptions {
  /** The secrets to begin with, newest first, at least one. */
  readonly secrets: readonly SigningSecret[];
  /**
   * Stores the secrets for the next start and for other processes. If it throws, `rotate` rejects with the error, but
   * the new secret is in use nevertheless, because the service returns it only once.
   */
  readonly save: (secrets: readonly SigningSecret[]) => void | Promise<void>;
  /**
   * How long an old secret is still accepted, in milliseconds, 0 or more. Choose at least the time for which the
   * service may retry a delivery signed with it; the interface document does not state that time. Default 7 days.
   */
  readonly overlapMs?: number | undefined;
}

/** The part of the client that a rotation needs. */
export interface RotatingClient {
  readonly webhookEndpoints: {
    readonly rotateSecret: (
      id: string,
      options?: RotateOptions,
    ) => Promise<{ readonly secret: MaskedSecret }>;
  };
}

/** The secrets of an endpoint across its rotations. */
export interface RotatingSecrets {
  /**
   * Returns the active secrets, newest first. Pass this function as the `secret` option of `createReceiver`. A rotation
   * keeps at most 10 secrets.
   */
  readonly current: () => readonly SigningSecret[];
  /**
   * Rotates the secret of the endpoint, adds the new secret to those that `current` returns, and saves them. Rotations
   * of one object run one after the other.
   *
   * A receiver refuses deliveries signed with the new secret until `rotate` has received that secret. If the service
   * does not try again after a 401, call `webhookEvents.redeliverFailed` afterwards. A rotation whose response is lost
   * is repeated within its deadline. If `rotate` still rejects with a ConnectionError, ServerError, AbortedError or
   * InvalidResponseError, call it again soon: the service may sign with a secret that was never received.
   *
   * @throws the errors of `webhookEndpoints.rotateSecret` and `save`
   */
  readonly rotate: (
    client: RotatingClient,
    webhook_endpoint_id: string,
    options?: RequestOptions,
  ) => Promise<void>;
}

/** The maximum number of secrets that a receiver accepts. */
const mostSecrets = 10;

/**
 * Keeps the secrets of an endpoint across its rotations, so that a receiver verifies with the new secret and the old
 * ones.
 *
 * @throws ClientConfigError `invalid_option`
 *
 * @example
 * ```ts
 * import { createClient } from "@svc-webhooks/client";
 * import { rotatingSecrets } from "@svc-webhooks/client/rotation";
 *
 * const stored = [{ id: "first", key: process.env.SVC_WEBHOOK_SECRET ?? "" }];
 * const secrets = rotatingSecrets({ secrets: stored, save: () => {} });
 * // createReceiver({ secret: secrets.current, on: … })
 *
 * export const rotate = () => secrets.rotate(createClient(), "we_…");
 * ```
 */
export function rotatingSecrets({
  secrets,
  save,
  overlapMs = 7 * 86_400_000,
}: RotatingSecretsOptions): RotatingSecrets {
  check(
    Array.isArray(secrets) &&
      secrets.length > 0 &&
      secrets.every((secret) => isText(secret?.id) && isText(secret.key)),
    "`secrets` must contain the current secret as `{ id, key }`, with `key` from `reveal()`.",
  );
  check(typeof save === "function", "`save` must be a function.");
  check(
    typeof overlapMs === "number" && overlapMs >= 0,
    "`overlapMs` must be a number that is 0 or greater.",
  );
  // Replaces null with undefined: databases store a missing expiry as null, and a receiver refuses null.
  let known = secrets.map((secret) => ({ ...secret, expiresAt: secret.expiresAt ?? undefined }));
  let turn: Promise<unknown> = Promise.resolve();
  const valid = (now: number) => known.filter(({ expiresAt }) => (expiresAt ?? Infinity) > now);

  const rotate: RotatingSecrets["rotate"] = async ({ webhookEndpoints }, id, options) => {
    const { secret } = await webhookEndpoints.rotateSecret(id, { ...options, repeat: true });
    const now = Date.now();
    const old = valid(now).map((previous) => ({
      ...previous,
      expiresAt: previous.expiresAt ?? now + overlapMs,
    }));
    known = [{ id: crypto.randomUUID(), key: secret.reveal() }, ...old].slice(0, mostSecrets);
    await save(known);
  };
  return {
    current: () => valid(Date.now()),
    async rotate(client, id, options) {
      // Rotates one at a time, because an older list could otherwise be saved last.
      const rotating = turn.then(() => rotate(client, id, options));
      turn = rotating.catch(() => {});
      await rotating;
    },
  };
}
