import { createHmac } from "node:crypto";
import type { Program, SignedRequest } from "../program.js";

const origin = "https://app.example";
const path = "/status?tenant=1";
const authToken = "auth-token";

function statusOf(id: string, status: string, token = authToken): SignedRequest {
  const form = { To: "+15550100", MessageStatus: status, MessageSid: id, AccountSid: "AC1" };
  const sorted = Object.entries(form).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const signed = origin + path + sorted.flat().join("");
  return {
    path,
    body: new URLSearchParams(form).toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
      "x-twilio-signature": createHmac("sha1", token).update(signed).digest("base64"),
    },
  };
}

export const twilio: Program = {
  folder: "twilio",
  packages: ["twilio@6.3.1", "express@5.3.0"],
  secret: authToken,
  wrongSecret: "wrong-token",
  environment: () => ({ TWILIO_AUTH_TOKEN: authToken, PUBLIC_URL: origin }),
  sign: (id, token) => statusOf(id, "delivered", token),
  signEarlier: (id) => statusOf(id, "sent"),
  signWrong(id) {
    const request = statusOf(id, "delivered");
    return [
      { ...request, path: "/status?tenant=2" },
      { ...request, body: `${request.body}&ErrorCode=30003` },
      { ...request, body: "" },
      { ...request, headers: { "content-type": "application/json" }, body: "{}" },
    ];
  },
  before: { failure: 1, crash: 1 },
};
