// A push endpoint of Google Pub/Sub: it verifies the token, handles the message and acknowledges it.
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { OAuth2Client } from "google-auth-library";
import { effect } from "../effect.mjs";

const { PUSH_AUDIENCE: audience, PUSH_SERVICE_ACCOUNT: serviceAccount } = process.env;
const client = new OAuth2Client();

/** Resolves to whether Google signed the token for this endpoint and the subscription's service account. */
async function isFromPubSub({ headers: { authorization = "" } }) {
  const idToken = authorization.replace(/^Bearer /, "");
  const ticket = await client.verifyIdToken({ idToken, audience }).catch(() => undefined);
  const { email, email_verified: isVerified } = ticket?.getPayload() ?? {};
  return isVerified === true && email === serviceAccount;
}

const handle = (order) => effect(order.id);

createServer(async (request, response) => {
  if (!(await isFromPubSub(request))) return response.writeHead(401).end();
  try {
    const { message } = await json(request);
    // Prefers the publisher's own id of the event, because a repeated publication is another message.
    const data = JSON.parse(Buffer.from(message.data, "base64"));
    const event = { id: message.messageId, ...data };
    await handle(event);
    response.writeHead(204).end();
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
}).listen(process.env.PORT ?? 3000);
