// Responds in place of Amazon and PayPal. Everything else that a program fetches must be on this machine.
import { verify } from "node:crypto";
import { crc32 } from "node:zlib";

const { EFFECTS_URL, SENDER_CERTIFICATE, PAYPAL_WEBHOOK_ID } = process.env;
const realFetch = fetch;

/** Verifies a signature as PayPal's API does, which refuses a request that lacks a parameter. */
function verificationOf(text) {
  const { transmission_id: id, transmission_time: time, ...rest } = JSON.parse(text);
  if (![id, time, rest.auth_algo, rest.cert_url, rest.transmission_sig].every(Boolean)) return;
  // The text of the event, byte by byte.
  const [, event] = /"webhook_event":([^]*)\}$/.exec(text);
  const signed = `${id}|${time}|${PAYPAL_WEBHOOK_ID}|${crc32(event)}`;
  const signature = Buffer.from(rest.transmission_sig, "base64");
  const isGenuine = verify("RSA-SHA256", Buffer.from(signed), SENDER_CERTIFICATE, signature);
  return { verification_status: isGenuine ? "SUCCESS" : "FAILURE" };
}

const routes = {
  "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123abcd.pem": () =>
    new Response(SENDER_CERTIFICATE),
  // The confirmation of a subscription is an effect, so that tests can count it.
  "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=token": () =>
    realFetch(EFFECTS_URL, { method: "POST", body: '{"id":"token"}' }),
  "https://api-m.paypal.com/v1/oauth2/token": async (request) => {
    const isGranted =
      request.headers.get("authorization") === `Basic ${btoa("client:secret")}` &&
      (await request.text()) === "grant_type=client_credentials";
    return isGranted
      ? Response.json({ access_token: "token", expires_in: 32_400 })
      : new Response(null, { status: 401 });
  },
  "https://api-m.paypal.com/v1/notifications/verify-webhook-signature": async (request) => {
    if (request.headers.get("authorization") !== "Bearer token")
      return new Response(null, { status: 401 });
    const result = verificationOf(await request.text());
    return result ? Response.json(result) : new Response(null, { status: 400 });
  },
};

globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  if (new URL(request.url).hostname === "127.0.0.1") return realFetch(request);
  const route = routes[request.url];
  if (!route) throw new Error(`No program may fetch ${request.url}.`);
  return route(request);
};
