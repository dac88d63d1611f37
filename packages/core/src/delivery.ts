import type { DeliveryHeaders } from "./headers.js";
import type { DeadlineCall } from "./promise.js";

/**
 * Reads the whole body, once. `limit` is `maxBodyBytes`: stop reading as soon as it is exceeded.
 * `call.signal` is aborted when `bodyTimeoutMs` has passed: release what was read. Rejects with a
 * `BodyError`; any other rejection counts as `body_unavailable`.
 */
export type BodyReader = (limit: number, call: DeadlineCall) => Promise<Uint8Array>;

/** One HTTP request from the service, as an adapter hands it to the receiver. */
export interface Delivery {
  /** The request method, as received. */
  readonly method: string;
  readonly headers: DeliveryHeaders;
  /** The exact bytes received, or how to read them. A reader is not called for what is refused without a body. */
  readonly body: Uint8Array | BodyReader;
  /** For adapters: what to do where the bytes are consumed or cut. Ends the printed line of `body_unavailable`. */
  readonly fix?: string | undefined;
}

/** A delivery that can be stored and given to `receive()` again. */
export interface StoredDelivery extends Delivery {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}
