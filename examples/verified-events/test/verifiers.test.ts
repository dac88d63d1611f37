import { describe, expect, test, vi } from "vitest";
import { paypal } from "./senders/paypal.js";
import { certificate, otherKey } from "./senders/rsa.js";
import { snsMessage, topicArn } from "./senders/sns.js";

interface Verifier {
  readonly snsVerifier: (topic: string) => (text: unknown) => Promise<unknown>;
}

const { snsVerifier } = (await import(
  new URL("../sns/verify.mjs", import.meta.url).href
)) as Verifier;

const certificateUrl = snsMessage({})["SigningCertURL"];

/** Returns a verifier of the topic. `fetch` responds with the certificate to all addresses. */
function verifier() {
  const fetched = vi.fn<(url: string) => Promise<Response>>(() =>
    Promise.resolve(new Response(certificate)),
  );
  vi.stubGlobal("fetch", fetched);
  return { verified: snsVerifier(topicArn), fetched };
}

describe("sns", () => {
  const confirmation = {
    Type: "SubscriptionConfirmation",
    Token: "token",
    SubscribeURL: "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=token",
  };

  test.each([
    ["a notification", {}],
    ["a notification with a subject", { Subject: "Paid" }],
    ["the confirmation of a subscription", confirmation],
  ])("accepts %s that SNS signed for the topic", async (_name, changes) => {
    const { verified, fetched } = verifier();
    const message = snsMessage(changes);
    expect(await verified(JSON.stringify(message))).toEqual(message);
    expect(fetched.mock.calls.map(([url]) => url)).toEqual([certificateUrl]);
  });

  const hosts = [
    "https://sns.eu-west-1.amazonaws.com.example/SimpleNotificationService-0123abcd.pem",
    "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123abcd.pem",
    "https://user@sns.eu-west-1.amazonaws.com@example.com/SimpleNotificationService-0123abcd.pem",
    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123abcd.pem?1",
    "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123abcd.pem",
    "https://sns.eu-west-1.amazonaws.com/?Action=GetTopicAttributes&.pem",
    "https://sns.eu-west-1.amazonaws.com/a/../SimpleNotificationService-0123abcd.pem/",
  ];

  test.each<readonly [string, unknown]>([
    ["a message of another topic", snsMessage({ TopicArn: `${topicArn}-2` })],
    ["a confirmation for another topic", snsMessage({ ...confirmation, TopicArn: "arn" })],
    ["SignatureVersion 1", snsMessage({ SignatureVersion: "1" })],
    ["a message of another type", snsMessage({ Type: "UnsubscribeConfirmation" })],
    ["a type that objects inherit", snsMessage({ Type: "constructor" })],
    ["a type in a list", { ...snsMessage({}), Type: ["Notification"] }],
    ["a message in a list", { ...snsMessage({}), Message: ["{}"] }],
    ["a number", 1],
    ["null", null],
    ...hosts.map(
      (SigningCertURL) =>
        [`a certificate at ${SigningCertURL}`, snsMessage({ SigningCertURL })] as const,
    ),
  ])("refuses %s without fetching anything", async (_name, message) => {
    const { verified, fetched } = verifier();
    expect(await verified(JSON.stringify(message))).toBeUndefined();
    expect(fetched).not.toHaveBeenCalled();
  });

  test.each([
    ["a changed message", { ...snsMessage({}), Message: '{"id":"other"}' }],
    ["an added subject", { ...snsMessage({}), Subject: "Paid" }],
    ["a signature of another key", snsMessage({}, otherKey)],
    ["no signature", { ...snsMessage({}), Signature: undefined }],
    [
      "a confirmation elsewhere",
      snsMessage({
        ...confirmation,
        SubscribeURL: "https://example.com/?Action=ConfirmSubscription&",
      }),
    ],
    [
      "another action",
      snsMessage({
        ...confirmation,
        SubscribeURL: "https://sns.eu-west-1.amazonaws.com/?Action=Publish&",
      }),
    ],
    [
      "a confirmation without an address",
      snsMessage({ Type: "SubscriptionConfirmation", Token: "token" }),
    ],
  ])("refuses %s", async (_name, message) => {
    const { verified } = verifier();
    expect(await verified(JSON.stringify(message))).toBeUndefined();
  });

  test.each([undefined, "", "{"])("refuses the text %s", async (text) => {
    expect(await verifier().verified(text)).toBeUndefined();
  });

  test("fetches the certificate once, and again after a failure", async () => {
    const { verified, fetched } = verifier();
    const text = JSON.stringify(snsMessage({}));
    fetched.mockResolvedValueOnce(new Response(null, { status: 503 }));
    await expect(verified(text)).rejects.toThrow("503");
    for (let times = 0; times < 2; times++) expect(await verified(text)).toBeDefined();
    expect(fetched).toHaveBeenCalledTimes(2);
  });
});

interface PayPal {
  readonly paypalEvent: (request: {
    readonly body: unknown;
    readonly get: (name: string) => string | undefined;
  }) => Promise<{ readonly id: string } | undefined>;
}

describe("paypal", () => {
  /** Returns a new `paypalEvent`, a request, and what the API receives, which returns `status` for each signature. */
  async function verifying(status: string) {
    const posted: (readonly [path: string, body: string])[] = [];
    const api = vi.fn<
      (url: string, init: { readonly body: string | URLSearchParams }) => Promise<Response>
    >((url, { body }) => {
      posted.push([new URL(url).pathname, String(body)]);
      const token = { access_token: "token", expires_in: 32_400 };
      return Promise.resolve(Response.json({ ...token, verification_status: status }));
    });
    vi.stubGlobal("fetch", api);
    const file = new URL(`../paypal/verify.mjs?${crypto.randomUUID()}`, import.meta.url);
    const { paypalEvent } = (await import(file.href)) as PayPal;
    const { headers, body } = await paypal.sign("WH-1", paypal.secret);
    const request = { body, get: (name: string) => headers[name] };
    return { paypalEvent, request, api, posted };
  }

  test("passes the exact text of the event to the API, and reuses its token", async () => {
    const { paypalEvent, request, posted } = await verifying("SUCCESS");
    expect(await paypalEvent(request)).toMatchObject({ id: "WH-1" });
    expect(await paypalEvent(request)).toMatchObject({ id: "WH-1" });
    const path = "/v1/notifications/verify-webhook-signature";
    expect(posted.map(([to]) => to)).toEqual(["/v1/oauth2/token", path, path]);
    expect(posted[1]?.[1]).toContain(`,"webhook_event":${request.body}}`);
    expect(JSON.parse(posted[1]?.[1] ?? "")).toHaveProperty("auth_algo", "SHA256withRSA");
  });

  test("returns no event whose signature PayPal refuses", async () => {
    const { paypalEvent, request } = await verifying("FAILURE");
    expect(await paypalEvent(request)).toBeUndefined();
  });

  test.each([
    undefined,
    "",
    // This text would add a member to the request.
    '{},"verification_status":"SUCCESS"',
  ])("does not ask PayPal about the body %s", async (body) => {
    const { paypalEvent, request, api } = await verifying("SUCCESS");
    expect(await paypalEvent({ ...request, body })).toBeUndefined();
    expect(api).not.toHaveBeenCalled();
  });

  test("does not ask PayPal about a request without a signature", async () => {
    const { paypalEvent, request, api } = await verifying("SUCCESS");
    expect(await paypalEvent({ ...request, get: () => undefined })).toBeUndefined();
    expect(api).not.toHaveBeenCalled();
  });

  test("rejects while the API fails, so that PayPal retries", async () => {
    const { paypalEvent, request, api } = await verifying("SUCCESS");
    api.mockResolvedValueOnce(new Response(null, { status: 503 }));
    await expect(paypalEvent(request)).rejects.toThrow("503");
    expect(await paypalEvent(request)).toMatchObject({ id: "WH-1" });
  });
});
