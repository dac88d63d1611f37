import { sign } from "svc-webhooks";

export const secret = "whsec_example";

/** Sends one attempt at a delivery over HTTP, as the service does. Resolves to its outcome, or "no response". */
export async function send(
  url: string,
  type: string,
  emailId: string,
  attempt: number,
): Promise<string> {
  const body = JSON.stringify({ type, data: { email_id: emailId } });
  const deliveryId = `dlv_of_${emailId}`;
  try {
    const response = await fetch(`${url}/webhooks`, {
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
    return `${response.status} ${result.status ?? result.error?.code ?? "?"}`;
  } catch {
    return "no response";
  }
}
