import type { Secret as ReceiverSecret } from "@svc-webhooks/core";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  ApiError,
  createClient,
  isSvcError,
  RateLimitError,
  SvcError,
  type AcceptedSend,
  type Client,
  type ClientOptions,
  type EmailRequest,
  type ErrorCode,
  type ErrorsByCode,
  type KnownError,
  type NotFoundError,
  type TimeoutError,
  type Page,
  type ResponsePromise,
  type MaskedSecret,
  type SendState,
  type WebhookEndpoint,
  type WebhookEvent,
} from "../src/index.js";
import type { SigningSecret } from "../src/rotation.js";

// tsc checks these tests. Code that must not compile is in functions that are never called.

const client: Client = createClient({ apiKey: "svc_test", baseUrl: "http://127.0.0.1:4010" });
const rest = { from: "ada@mail.example.test", to: ["grace@example.test"], subject: "Hello" };
const html = "<p>Hello.</p>";
const text = "Hello.";

describe("an email", () => {
  test("has `html`, `text` or both", () => {
    const emails: EmailRequest[] = [
      { ...rest, html },
      { ...rest, text },
      { ...rest, html, text },
      { ...rest, html, text: undefined },
      // @ts-expect-error It has neither.
      rest,
      // @ts-expect-error It has neither.
      { ...rest, html: undefined, text: undefined },
    ];
    expect(emails).toHaveLength(6);
  });

  test("has the interface's names and types", () => {
    const emails: EmailRequest[] = [
      { ...rest, text, to: ["a@example.test"] as const, message_class: "transactional" },
      // @ts-expect-error `to` is always an array.
      { ...rest, text, to: "grace@example.test" },
      // @ts-expect-error The name has an underscore.
      { ...rest, text, messageClass: "transactional" },
      // @ts-expect-error Other classes are rejected.
      { ...rest, text, message_class: "marketing" },
      // @ts-expect-error There is no such field.
      { ...rest, text, cc: ["linus@example.test"] },
      // @ts-expect-error A sender is needed.
      { to: rest.to, subject: rest.subject, text },
    ];
    expect(emails).toHaveLength(6);
  });
});

const receiverSecret = (_secret: SigningSecret["key"]) => {};

test("wrong calls do not compile", () => {
  const wrong = [
    // @ts-expect-error An id is needed.
    () => client.sends.get(),
    // @ts-expect-error The name has an underscore.
    () => client.domains.create({ domainName: "mail.example.test" }),
    // @ts-expect-error Event types are needed.
    () => client.webhookEndpoints.create({ url: "http://127.0.0.1:9" }),
    // @ts-expect-error Only requests that create a send have a key.
    () => client.domains.verify("dom_1", { idempotencyKey: "key" }),
    // @ts-expect-error The endpoint is needed.
    () => client.webhookEvents.redeliverFailed({ dryRun: true }),
    // @ts-expect-error There is no such option of a request.
    () => client.sends.get("send_1", { timeout: 5 }),
    // @ts-expect-error There is no such query parameter.
    () => client.webhookEvents.list({ status: "failed" }),
    // @ts-expect-error A path begins with a slash.
    () => client.request("GET", "v1/sends/send_1"),
    // @ts-expect-error The method has capitals.
    () => client.request("get", "/v1/sends/send_1"),
    // @ts-expect-error There is no such option.
    () => createClient({ retries: 3 }),
    // @ts-expect-error A secret is not a text until it is revealed.
    async (): Promise<string> => (await client.webhookEndpoints.rotateSecret("we_1")).secret,
    // @ts-expect-error The response may have no body.
    async () => (await client.webhookEndpoints.archive("we_1")).status,
    // @ts-expect-error The response may have no body.
    async () => (await client.domains.verify("dom_1")).status,
    // @ts-expect-error The response may have no body.
    async () => (await client.webhookEvents.redeliver("evt_1")).status,
    // @ts-expect-error Only a rotation has this option.
    () => client.webhookEndpoints.archive("we_1", { repeat: true }),
    // @ts-expect-error A secret that is not revealed is not a receiver's.
    async () => receiverSecret((await client.webhookEndpoints.rotateSecret("we_1")).secret),
    // @ts-expect-error The names of the recipe's own options have no underscore.
    () => client.webhookEvents.redeliverFailed({ webhook_endpoint_id: "we_1", dry_run: true }),
    // @ts-expect-error There is no number that can be aborted.
    () => client.sends.get("send_1", { signal: 5_000 }),
  ];
  expect(wrong).toHaveLength(18);
});

test("results have the interface's names", () => {
  expectTypeOf(client.emails.send).returns.toEqualTypeOf<
    ResponsePromise<AcceptedSend & { readonly idempotencyKey: string }>
  >();
  expectTypeOf(client.webhookEndpoints.create)
    .returns.resolves.toHaveProperty("secret")
    .toEqualTypeOf<MaskedSecret>();
  expectTypeOf(client.webhookEndpoints.archive).returns.toEqualTypeOf<
    ResponsePromise<WebhookEndpoint | undefined>
  >();
  expectTypeOf<SigningSecret>().toExtend<ReceiverSecret>();
  expectTypeOf(client.webhookEvents.list).returns.toExtend<AsyncIterable<WebhookEvent>>();
  expectTypeOf<ReturnType<ReturnType<typeof client.webhookEvents.list>["pages"]>>().toEqualTypeOf<
    AsyncIterable<Page<WebhookEvent>>
  >();
  expectTypeOf<Awaited<ReturnType<typeof client.request>>>().toBeUnknown();
});

test("unions are open, and still suggest what is known", () => {
  const states: SendState[] = ["delivered", "opened"];
  const codes: ErrorCode[] = ["rate_limited", "quota_exceeded"];
  expectTypeOf<string>().toExtend<WebhookEvent["type"]>();
  expectTypeOf<string>().toExtend<WebhookEvent["status"]>();
  // A plain `string` would have swallowed the known values.
  expectTypeOf<SendState>().not.toEqualTypeOf<string>();
  expectTypeOf<ErrorCode>().not.toEqualTypeOf<string>();
  expect([states, codes]).toHaveLength(2);
});

test("an error of any class has the same facts", () => {
  const facts = (error: unknown) => (error instanceof SvcError ? error : undefined);
  expectTypeOf(facts).returns.toEqualTypeOf<SvcError | undefined>();
  expectTypeOf<RateLimitError["retryAfterMs"]>().toEqualTypeOf<number | undefined>();
  expectTypeOf<SvcError["attempts"]>().toEqualTypeOf<number>();
  expectTypeOf<SvcError["headers"]>().toEqualTypeOf<Headers | undefined>();
  const error = new RateLimitError({ code: "rate_limited", message: "Wait." });
  expect(facts(error)).toBe(error);
});

test("a switch on the code of a known error narrows to its class", () => {
  const pauseOf = (error: unknown): number => {
    if (!isSvcError(error)) return -1;
    const known = error as KnownError;
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- a caller matches what it handles
    switch (known.code) {
      case "rate_limited":
        expectTypeOf(known).toExtend<RateLimitError>();
        // @ts-expect-error It is of another class.
        known satisfies NotFoundError;
        return known.retryAfterMs ?? 0;
      case "attempt_timeout":
      case "deadline_exceeded":
        expectTypeOf(known).toExtend<TimeoutError>();
        return 1;
      // @ts-expect-error Misspelt.
      case "connection_fails":
        return 2;
      default:
        expectTypeOf(known).toExtend<SvcError>();
        return 3;
    }
  };
  expectTypeOf<ErrorsByCode["deadline_exceeded"]>().toEqualTypeOf<TimeoutError>();
  // The table has all codes, and each class is an error class.
  expectTypeOf<keyof ErrorsByCode>().toExtend<ErrorCode>();
  expectTypeOf<ErrorsByCode[keyof ErrorsByCode]>().toExtend<SvcError>();
  const message = "Refused.";
  const errors = [
    new RateLimitError({ code: "rate_limited", retryAfterMs: 7, message }),
    new ApiError({ code: "quota_exceeded", message }),
  ];
  expect(errors.map(pauseOf)).toEqual([7, 3]);
});

test("the global `fetch` is an option", () => {
  expectTypeOf<typeof globalThis.fetch>().toExtend<NonNullable<ClientOptions["fetch"]>>();
});
