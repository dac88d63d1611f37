import { headerNames, sign, type MaybePromise, type SecretKey } from "@svc-webhooks/core";
import { service, type SignatureForm } from "@svc-webhooks/schemes/senders";

/** The values of a new signature. Default: those of the delivery. */
export interface SigningValues {
  readonly secret?: SecretKey | undefined;
  /** The time of signing, in epoch milliseconds. */
  readonly at?: number | undefined;
}

/** The parts of a delivery that a new signature replaces. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  /** Differs from the signed body only if the sender puts the time in the body. */
  readonly body: Uint8Array;
}

/**
 * How one delivery was signed, so that `tamper` can change a delivery of any sender. It contains the secret, but not as
 * a property.
 */
export interface Signing extends SignatureForm {
  /** The name of the scheme. Undefined for the service. */
  readonly scheme?: string | undefined;
  /** The signed time, in epoch milliseconds. Undefined if the sender signs none. */
  readonly at?: number | undefined;
  /** Returns a secret that is not the receiver's. */
  readonly otherSecret: () => MaybePromise<SecretKey>;
  readonly sign: (body: Uint8Array, values: SigningValues) => Promise<Signed>;
}

/** How the service signs. */
export const serviceSigning: Signing = {
  ...service.form,
  otherSecret: () => "whsec_wrong",
  async sign(body, { secret = "whsec_test" }) {
    return { headers: { [headerNames.signature]: await sign(body, secret) }, body };
  },
};

/** Returns how a delivery was signed. */
export const signingOf = ({
  signing = serviceSigning,
}: {
  readonly signing?: Signing | undefined;
}): Signing => signing;
