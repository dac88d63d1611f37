// Verifies messages of one SNS topic whose SignatureVersion is 2.
import { verify } from "node:crypto";

/** The members that SNS signs, in their order, by the type of the message. */
const signed = new Map([
  ["Notification", "Message MessageId Subject Timestamp TopicArn Type"],
  ["SubscriptionConfirmation", "Message MessageId SubscribeURL Timestamp Token TopicArn Type"],
]);

/**
 * Returns a function that resolves to the message in a request's text, or to undefined unless SNS has signed it for this
 * topic. It rejects if the certificate cannot be fetched, so that the response is 500 and SNS retries.
 */
export function snsVerifier(topicArn) {
  // arn:aws:sns:<region>:<account>:<name>
  const origin = `https://sns.${topicArn.split(":")[3]}.amazonaws.com`;
  /** Returns whether a URL is one of SNS itself, in the region of the topic, with a path that matches. */
  const isOfSns = (url, path) => url.startsWith(origin) && path.test(url.slice(origin.length));
  const certificates = new Map();

  async function certificateAt(url) {
    const known = certificates.get(url);
    if (known) return known;
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(5_000) });
    if (!response.ok) throw new Error(`SNS responded to ${url} with ${response.status}.`);
    const certificate = await response.text();
    certificates.set(url, certificate);
    return certificate;
  }

  return async (text) => {
    const message = parsed(text);
    const { Type, TopicArn, SignatureVersion } = message;
    const names = signed.get(Type)?.split(" ");
    if (!names || TopicArn !== topicArn || SignatureVersion !== "2") return;
    const certificateUrl = String(message.SigningCertURL);
    if (!isOfSns(certificateUrl, /^\/SimpleNotificationService-\w+\.pem$/)) return;
    const present = names.filter((name) => message[name] !== undefined);
    if (!present.every((name) => typeof message[name] === "string")) return;
    const content = present.map((name) => `${name}\n${message[name]}\n`).join("");
    const signature = Buffer.from(String(message.Signature), "base64");
    const certificate = await certificateAt(certificateUrl);
    if (!verify("RSA-SHA256", Buffer.from(content), certificate, signature)) return;
    const isSafe =
      Type === "Notification" ||
      isOfSns(message.SubscribeURL ?? "", /^\/\?Action=ConfirmSubscription&/);
    return isSafe ? message : undefined;
  };
}

function parsed(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
