import type { Signing } from "./signing.js";

/** A delivery as its sender would send it. For the service, see the interface document, "Delivery headers". */
export interface SignedDelivery {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /**
   * How the delivery was signed, for `tamper`. Undefined if it is signed as the service signs. Receivers do not read it.
   */
  readonly signing?: Signing | undefined;
}

export const newDeliveryId = (): string => `dlv_${crypto.randomUUID()}`;

/** Omits the headers whose value is undefined. */
export const presentOnly = (
  headers: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
