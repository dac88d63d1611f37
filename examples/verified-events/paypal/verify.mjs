// Verifies webhooks with PayPal's API.
const { PAYPAL_API = "https://api-m.paypal.com", PAYPAL_WEBHOOK_ID } = process.env;
const { PAYPAL_CLIENT_ID, PAYPAL_CLIENT_SECRET } = process.env;

/** Sends a request to PayPal's API. Rejects if the response is not 200, so that PayPal delivers the event again. */
async function post(path, headers, body) {
  const signal = AbortSignal.timeout(10_000);
  const response = await fetch(PAYPAL_API + path, { method: "POST", headers, body, signal });
  if (!response.ok) throw new Error(`PayPal responded to ${path} with ${response.status}.`);
  return response.json();
}

let token = { value: "", expiresAt: 0 };

async function accessToken() {
  if (Date.now() < token.expiresAt) return token.value;
  const credentials = Buffer.from(`${PAYPAL_CLIENT_ID}:${PAYPAL_CLIENT_SECRET}`);
  const authorization = `Basic ${credentials.toString("base64")}`;
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  const granted = await post("/v1/oauth2/token", { authorization }, form);
  token = { value: granted.access_token, expiresAt: Date.now() + (granted.expires_in - 60) * 1000 };
  return token.value;
}

/** The headers that identify and sign a webhook, each a member of the request to the API. */
const signing = [
  "auth_algo",
  "cert_url",
  "transmission_id",
  "transmission_sig",
  "transmission_time",
];

/** Resolves to the event in a request whose body is text, or to undefined unless PayPal confirms its signature. */
export async function paypalEvent(request) {
  const parameters = { webhook_id: PAYPAL_WEBHOOK_ID };
  for (const name of signing) parameters[name] = request.get(`paypal-${name.replace("_", "-")}`);
  const event = parsed(request.body);
  if (!event || signing.some((name) => !parameters[name])) return;
  // PayPal has signed this exact text, which JSON.stringify(event) may not return.
  const body = `${JSON.stringify(parameters).slice(0, -1)},"webhook_event":${request.body}}`;
  const headers = {
    authorization: `Bearer ${await accessToken()}`,
    "content-type": "application/json",
  };
  const result = await post("/v1/notifications/verify-webhook-signature", headers, body);
  return result.verification_status === "SUCCESS" ? event : undefined;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return;
  }
}
