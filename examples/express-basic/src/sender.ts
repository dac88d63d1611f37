import { sign } from "svc-webhooks";

/** A delivery that the service would send. */
export interface Sending {
  readonly deliveryId: string;
  readonly body: string;
  readonly secret: string;
  readonly attempt?: number;
  /** The body that is sent under the signature of `body`; default `body` itself. */
  readonly sentBody?: string;
}

/** The receiver's response, and the time until it arrived. */
export interface Reply {
  readonly code: string;
  readonly status: number;
  /** The seconds until the next attempt; 0 without `Retry-After`. */
  readonly retryAfter: number;
  readonly ms: number;
}

/** Returns the headers of a signed delivery (interface document, "Delivery headers"). */
export async function signedHeaders(sending: Sending): Promise<Record<string, string>> {
  return {
    "Content-Type": "application/json",
    "X-SVC-Signature": await sign(sending.body, sending.secret),
    "X-SVC-Delivery-Id": sending.deliveryId,
    "Idempotency-Key": sending.deliveryId,
    "X-SVC-Attempt": String(sending.attempt ?? 1),
  };
}

/** Sends one delivery over HTTP, as the service does. */
export async function send(url: string, sending: Sending): Promise<Reply> {
  const headers = await signedHeaders(sending);
  const startedAt = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: sending.sentBody ?? sending.body,
  });
  const result = (await response.json()) as { status?: string; error?: { code: string } };
  const ms = performance.now() - startedAt;
  return {
    code: result.status ?? result.error?.code ?? "?",
    status: response.status,
    retryAfter: Number(response.headers.get("Retry-After") ?? 0),
    ms,
  };
}
