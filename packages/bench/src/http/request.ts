import { deliveryOf } from "../deliveries.js";

/** What contenders are sent: genuine for the service's receivers and for GitHub's. */
export interface SignedRequest {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The id is not signed: each copy may have its own. */
  readonly headers: (id: string) => Readonly<Record<string, string>>;
}

export async function signedRequest(bodyBytes: number): Promise<SignedRequest> {
  const { body, headers } = await deliveryOf(bodyBytes);
  return {
    body,
    headers: (id) => ({
      ...headers,
      "x-svc-delivery-id": id,
      "idempotency-key": id,
      // GitHub's signature has the same form under another name.
      "x-hub-signature-256": headers["x-svc-signature"] ?? "",
      "x-github-delivery": id,
      "x-github-event": "push",
    }),
  };
}
