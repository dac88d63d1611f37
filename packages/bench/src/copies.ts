import { randomUUID } from "node:crypto";
import { deliveryOf } from "./deliveries.js";

/** What a server hands to a receiver. */
export interface Delivered {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Makes genuine deliveries of the same event, each under an id of its own: to a receiver they are new. */
export async function copiesOf(bytes: number): Promise<() => Delivered> {
  const { headers, body } = await deliveryOf(bytes);
  const buffer = Buffer.from(body);
  return () => {
    const id = `dlv_${randomUUID()}`;
    return {
      headers: { ...headers, "x-svc-delivery-id": id, "idempotency-key": id },
      body: buffer,
    };
  };
}
