import type { Signing } from "./signing.js";

/** A delivery as its sender sends it. The interface document lists the service's headers under "Delivery headers". */
export interface SignedDelivery {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /**
   * Describes to `tamper` how the delivery was signed. Undefined if the service is the sender. Receivers ignore it.
   */
  readonly signing?: Signing | undefined;
}

export const newDeliveryId = (): string => `dlv_${crypto.randomUUID()}`;

/** Returns the headers without those whose value is undefined. */
export const presentOnly = (
  headers: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
