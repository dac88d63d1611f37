import { sign, type MaybePromise, type SecretKey } from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import { service, type SignatureForm } from "@svc-webhooks/schemes/senders";

/** The values for signing a delivery again. */
export interface SigningValues {
  /** The key that signs. Default: the secret that first signed the delivery; for the service, `"whsec_test"`. */
  readonly secret?: SecretKey | undefined;
  /** The time of signing, in epoch milliseconds. Default: the time at which the delivery was first signed. */
  readonly at?: number | undefined;
}

/** The parts of a delivery that a new signature replaces. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  /** Differs from the body passed to `sign` only if the sender puts the time in the body. */
  readonly body: Uint8Array;
}

/**
 * Describes how one delivery was signed, so that `tamper` can change a delivery from any sender. No property contains
 * the secret; only the functions have access to it.
 */
export interface Signing extends SignatureForm {
  /** The name of the scheme. Undefined for the service. */
  readonly scheme?: string | undefined;
  /** The signed time, in epoch milliseconds. Undefined if the sender does not sign a time. */
  readonly at?: number | undefined;
  /** Returns a secret that is not the receiver's. */
  readonly otherSecret: () => MaybePromise<SecretKey>;
  readonly sign: (body: Uint8Array, values: SigningValues) => Promise<Signed>;
}

/** The signing of a delivery from the service. */
const serviceSigning: Signing = {
  ...service.form,
  otherSecret: () => "whsec_wrong",
  async sign(body, { secret = "whsec_test" }) {
    return { headers: { [headerNames.signature]: await sign(body, secret) }, body };
  },
};

/** Returns the signing of a delivery. A delivery without `signing` comes from the service. */
export const signingOf = ({
  signing = serviceSigning,
}: {
  readonly signing?: Signing | undefined;
}): Signing => signing;
