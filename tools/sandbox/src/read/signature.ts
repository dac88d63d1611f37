import { sign, type SecretKey } from "@svc-webhooks/core";
import { explain, fingerprint, type Explanation } from "@svc-webhooks/explain";
import { keyOf } from "../delivery/signing.js";
import type { World } from "../world.js";
import type { AttemptRecord, DeliveryRecord } from "../state/records.js";
import { secretHint } from "../lib/mask.js";
import { maybe } from "./shapes.js";

/** The secret that signed an attempt, and the keys that a receiver of the endpoint may use. */
interface Signer {
  /**
   * The stored secret that produced the attempt's signature. If there is none: for a tampered attempt, the current
   * secret; for an untampered one, undefined, because its secret has been rotated more than once since.
   */
  readonly secret: string | undefined;
  /** The key that signed the attempt, if it is known, followed by the current secret's key. */
  readonly keys: readonly [SecretKey, ...SecretKey[]];
  readonly previous: readonly SecretKey[];
}

/** Returns the first signature of an attempt. The tampering `duplicate_header` sends two. */
const signatureIn = ({ headers }: AttemptRecord): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === "x-svc-signature")?.[1];

/** Returns the body that was signed: the one that a fault changed before the signing, or else the original body. */
const signedBody = (delivery: DeliveryRecord, { tamper, body }: AttemptRecord) =>
  tamper === undefined ? (body ?? delivery.body) : delivery.body;

async function signerOf(
  { state, ledger }: World,
  delivery: DeliveryRecord,
  attempt: AttemptRecord,
): Promise<Signer> {
  const endpoint = state.endpoints.get(delivery.endpointId);
  const rule = ledger.get("secret.key");
  const current = endpoint?.secret ?? "";
  const older = [endpoint?.previous?.secret, delivery.pinnedSecret].filter(
    (secret) => secret !== undefined && secret !== current,
  ) as readonly string[];
  const others = Array.from(new Set(older));
  const sent = signatureIn(attempt) ?? "";
  for (const secret of [current, ...others]) {
    // Both forms of the key are tried, because A-20 may have changed since the attempt.
    for (const form of [rule, rule === "text" ? "base64" : "text"] as const) {
      const key = keyOf(secret, form);
      const genuine = await sign(signedBody(delivery, attempt), key);
      // Only the end of the genuine signature is compared, because a tampered one may lack its prefix.
      if (sent === "" || !genuine.endsWith(sent)) continue;
      const valid = secret === current ? [] : [keyOf(current, rule)];
      const previous = others.filter((other) => other !== secret);
      return {
        secret,
        keys: [key, ...valid],
        previous: previous.map((other) => keyOf(other, rule)),
      };
    }
  }
  return {
    secret: attempt.tamper === undefined ? undefined : current,
    keys: [keyOf(current, rule)],
    previous: others.map((other) => keyOf(other, rule)),
  };
}

/**
 * Returns an attempt's signature, and the signature that its bytes should have. If the secret is no longer stored, the
 * two are equal.
 */
export async function signatureShape(
  world: World,
  delivery: DeliveryRecord,
  attempt: AttemptRecord,
) {
  const { secret, keys } = await signerOf(world, delivery, attempt);
  const header = signatureIn(attempt);
  return {
    ...maybe("header", header),
    expected:
      secret === undefined ? (header ?? "") : await sign(attempt.body ?? delivery.body, keys[0]),
    ...(secret !== undefined && {
      secret_hint: secretHint(secret),
      secret_fingerprint: await fingerprint(secret),
    }),
    verdict: attempt.tamper === undefined ? "correct" : "tampered",
    ...maybe("tamper", attempt.tamper),
  } as const;
}

/** Explains a signature that a receiver computed for an attempt: that it is correct, or the likely mistake. */
export async function explainAttempt(
  world: World,
  delivery: DeliveryRecord,
  attempt: AttemptRecord,
  value: string,
): Promise<Explanation> {
  const { keys, previous } = await signerOf(world, delivery, attempt);
  const rule = world.ledger.get("secret.key");
  const others = Array.from(world.state.endpoints.all()).filter(
    ({ id }) => id !== delivery.endpointId,
  );
  return explain({
    body: attempt.body ?? delivery.body,
    signature: value,
    secrets: keys,
    previousSecrets: previous,
    otherSecrets: others.map(({ secret }) => keyOf(secret, rule)),
  });
}
