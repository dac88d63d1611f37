import { sign } from "svc-webhooks";

export const secret = "whsec_example";

/** The response, if one arrived. */
export interface Reply {
  readonly status: number | undefined;
  readonly code: string;
  /** The seconds until the service's next attempt. */
  readonly retryAfter: number;
}

/** Sends one attempt at a delivery over HTTP, as the service does (interface document, "Delivery headers"). */
export async function send(url: string, emailId: string, attempt: number): Promise<Reply> {
  const body = JSON.stringify({ type: "email.delivered", data: { email_id: emailId } });
  const deliveryId = `dlv_of_${emailId}`;
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-SVC-Signature": await sign(body, secret),
        "X-SVC-Delivery-Id": deliveryId,
        "Idempotency-Key": deliveryId,
        "X-SVC-Attempt": String(attempt),
      },
      body,
    });
    const result = (await response.json()) as { status?: string; error?: { code: string } };
    return {
      status: response.status,
      code: result.status ?? result.error?.code ?? "?",
      retryAfter: Number(response.headers.get("Retry-After") ?? 0),
    };
  } catch {
    return { status: undefined, code: "no response", retryAfter: 0 };
  }
}
