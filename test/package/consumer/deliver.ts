import { signedRequest } from "@svc-webhooks/testing";

export const secret = "whsec_test";

type Send = (request: Request) => Promise<Response>;

/** Sends a signed delivery of an event and resolves with the response: `200 {"status":"processed"}`. */
export async function deliver(
  send: Send,
  type: string,
  url = "http://localhost/",
): Promise<string> {
  const event = { type, data: { domain_name: "example.com" } };
  const response = await send(await signedRequest(event, { secret, url }));
  return `${response.status} ${await response.text()}`;
}
