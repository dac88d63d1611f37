import type { Program, SignedRequest } from "../program.js";
import { preloading } from "./preload.js";
import { certificate, otherKey, privateKey, rsaSign } from "./rsa.js";

const audience = "https://app.example/push";
const serviceAccount = "push@project.iam.gserviceaccount.com";

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

function push(id: string, authorization: string): SignedRequest {
  const data = Buffer.from(JSON.stringify({ id })).toString("base64");
  return {
    path: "/",
    body: JSON.stringify({
      // A publisher that sends an event again makes another message.
      message: { data, messageId: crypto.randomUUID(), attributes: {} },
      subscription: "projects/project/subscriptions/orders",
    }),
    headers: { "content-type": "application/json", authorization },
  };
}

/** Returns a token as Google signs it, with other values for some of its claims. */
function googleToken(changes: object, key: string = privateKey): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: "https://accounts.google.com",
    aud: audience,
    sub: "1",
    email: serviceAccount,
    email_verified: true,
    iat: now,
    exp: now + 3600,
    ...changes,
  };
  const signed = `${encoded({ alg: "RS256", kid: "test", typ: "JWT" })}.${encoded(claims)}`;
  return `${signed}.${rsaSign(signed, key, "base64url")}`;
}

export const pubsub: Program = {
  folder: "pubsub",
  packages: ["google-auth-library@10.9.1"],
  secret: privateKey,
  wrongSecret: otherKey,
  environment: () => ({
    ...preloading("google.mjs"),
    SENDER_CERTIFICATE: certificate,
    PUSH_AUDIENCE: audience,
    PUSH_SERVICE_ACCOUNT: serviceAccount,
  }),
  sign: (id, key) => push(id, `Bearer ${googleToken({}, key)}`),
  signWrong(id) {
    const tokens = [
      googleToken({ email: "other@project.iam.gserviceaccount.com" }),
      googleToken({ email_verified: false }),
      googleToken({ aud: "https://other.example/push" }),
      googleToken({ iss: "https://other.example" }),
      googleToken({ iat: 1, exp: 2 }),
      "",
    ];
    return tokens.map((token) => push(id, `Bearer ${token}`));
  },
  before: { failure: 1, crash: 1 },
};
