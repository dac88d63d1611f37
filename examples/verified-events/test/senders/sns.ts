import type { Program } from "../program.js";
import { preloading } from "./preload.js";
import { certificate, otherKey, privateKey, rsaSign } from "./rsa.js";

export const topicArn = "arn:aws:sns:eu-west-1:123456789012:orders";

/** The members of a message that SNS signs, in their order. */
const names: ReadonlyMap<unknown, string> = new Map([
  ["Notification", "Message MessageId Subject Timestamp TopicArn Type"],
  ["SubscriptionConfirmation", "Message MessageId SubscribeURL Timestamp Token TopicArn Type"],
]);

/** Returns a message of the topic as SNS sends it, with other values for some of its members. */
export function snsMessage(
  changes: Readonly<Record<string, string>>,
  key: string = privateKey,
): Readonly<Record<string, string>> {
  const message: Record<string, string> = {
    Type: "Notification",
    MessageId: crypto.randomUUID(),
    TopicArn: topicArn,
    Message: "{}",
    Timestamp: new Date().toISOString(),
    SignatureVersion: "2",
    SigningCertURL: "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123abcd.pem",
    ...changes,
  };
  const signed = (names.get(message["Type"]) ?? "")
    .split(" ")
    .filter((name) => name in message)
    .map((name) => `${name}\n${message[name]}\n`);
  return { ...message, Signature: rsaSign(signed.join(""), key, "base64") };
}

export const sns: Program = {
  folder: "sns",
  secret: privateKey,
  wrongSecret: otherKey,
  environment: () => ({
    ...preloading("fetch.mjs"),
    TOPIC_ARN: topicArn,
    SENDER_CERTIFICATE: certificate,
  }),
  sign: (id, key) => ({
    path: "/sns",
    body: JSON.stringify(snsMessage({ Message: JSON.stringify({ id }) }, key)),
    headers: { "content-type": "text/plain; charset=UTF-8" },
  }),
  signWrong(id) {
    const Message = JSON.stringify({ id });
    const messages = [
      snsMessage({ Message, TopicArn: `${topicArn}-2` }),
      { ...snsMessage({}), Message },
    ];
    return messages.map((message) => ({
      path: "/sns",
      body: JSON.stringify(message),
      headers: { "content-type": "text/plain; charset=UTF-8" },
    }));
  },
  before: { failure: 1, crash: 1 },
};
