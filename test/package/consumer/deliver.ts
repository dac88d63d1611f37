import { sign } from "@svc-webhooks/core";

export const secret = "whsec_test";

type Send = (request: Request) => Promise<Response>;

let deliveries = 0;

/** Sends a signed delivery of an event and resolves with the response: `200 {"status":"processed"}`. */
export async function deliver(
  send: Send,
  type: string,
  url = "http://localhost/",
): Promise<string> {
  deliveries += 1;
  const body = JSON.stringify({ type, data: { domain_name: "example.com" } });
  const response = await send(
    new Request(url, {
      method: "POST",
      body,
      headers: {
        "X-SVC-Signature": await sign(body, secret),
        "X-SVC-Delivery-Id": `dlv_${deliveries}`,
      },
    }),
  );
  return `${response.status} ${await response.text()}`;
}
