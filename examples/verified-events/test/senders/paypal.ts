import { crc32 } from "node:zlib";
import type { Program, SignedRequest } from "../program.js";
import { preloading } from "./preload.js";
import { certificate, otherKey, privateKey, rsaSign } from "./rsa.js";

const webhookId = "9XL90610J3647323C";

function signedEvent(id: string, key: string): SignedRequest {
  // JSON.stringify would change the number.
  const body = `{"id":"${id}","event_type":"PAYMENT.CAPTURE.COMPLETED","resource":{"amount":21.00}}`;
  const [transmissionId, time] = [crypto.randomUUID(), new Date().toISOString()];
  const signed = `${transmissionId}|${time}|${webhookId}|${crc32(body)}`;
  return {
    path: "/paypal",
    body,
    headers: {
      "content-type": "application/json",
      "paypal-auth-algo": "SHA256withRSA",
      "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-1",
      "paypal-transmission-id": transmissionId,
      "paypal-transmission-sig": rsaSign(signed, key, "base64"),
      "paypal-transmission-time": time,
    },
  };
}

export const paypal: Program = {
  folder: "paypal",
  secret: privateKey,
  wrongSecret: otherKey,
  environment: () => ({
    ...preloading("fetch.mjs"),
    SENDER_CERTIFICATE: certificate,
    PAYPAL_CLIENT_ID: "client",
    PAYPAL_CLIENT_SECRET: "secret",
    PAYPAL_WEBHOOK_ID: webhookId,
  }),
  sign: signedEvent,
  signWrong(id) {
    const { body, ...request } = signedEvent(id, privateKey);
    return [
      { ...request, body: body.replace("21.00", "2100") },
      { ...request, headers: { "content-type": "application/json" }, body },
    ];
  },
  before: { failure: 1, crash: 1 },
};
