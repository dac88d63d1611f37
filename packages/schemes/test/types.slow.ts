import { fileURLToPath } from "node:url";
import { createReceiver, type AnyEvent, type Scheme } from "@svc-webhooks/core";
import type { WebhookEventPayload } from "resend";
import type Stripe from "stripe";
import ts from "typescript5";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { GithubEvent } from "../src/github-events.js";
import {
  clerk,
  discord,
  dodoPayments,
  github,
  gitlab,
  hmac,
  lemonSqueezy,
  linear,
  meta,
  notion,
  openai,
  paddle,
  polar,
  replicate,
  resend,
  sendgrid,
  shopify,
  slack,
  standardWebhooks,
  stripe,
  svix,
  woocommerce,
  zoom,
} from "../src/index.js";

type Sent =
  | { readonly type: "mail.sent"; readonly count: number }
  | { readonly type: "mail.bounced"; readonly reason: string };

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const log = () => {};
const handler = () => {};

test("the handlers are typed by the scheme's type argument", () => {
  createReceiver({
    scheme: stripe<Sent>(),
    secret,
    log,
    on: {
      "mail.sent": (event, { deliveryId }) => {
        expectTypeOf(event).toEqualTypeOf<Extract<Sent, { readonly type: "mail.sent" }>>();
        expectTypeOf(deliveryId).toBeString();
      },
      "mail.*": async ({ type }) => expectTypeOf(type).toBeString(),
    },
  });
});

test("each scheme has a type argument", () => {
  const name = { name: "acme", header: "x-acme", encoding: "hex" } as const;
  for (const scheme of [
    clerk<Sent>(),
    discord<Sent>(),
    dodoPayments<Sent>(),
    github<Sent>(),
    gitlab<Sent>(),
    hmac<Sent>(name),
    lemonSqueezy<Sent>(),
    linear<Sent>(),
    meta<Sent>(),
    notion<Sent>(),
    openai<Sent>(),
    paddle<Sent>(),
    polar<Sent>(),
    replicate<Sent>(),
    resend<Sent>(),
    sendgrid<Sent>(),
    shopify<Sent>(),
    slack<Sent>(),
    standardWebhooks<Sent>(),
    stripe<Sent>(),
    svix<Sent>(),
    woocommerce<Sent>(),
    zoom<Sent>(),
  ]) {
    const options = { scheme, secret: () => secret, log };
    createReceiver({
      ...options,
      on: { "mail.bounced": ({ reason }) => expectTypeOf(reason).toBeString() },
    });
    // @ts-expect-error: no event has this type
    expect(createReceiver({ ...options, on: { "mail.snet": handler } })).toBeDefined();
  }
});

test("a wrong type and a wrong field are errors", () => {
  createReceiver({
    scheme: stripe<Sent>(),
    secret,
    log,
    // @ts-expect-error: the type is mail.sent
    on: { "mail.snet": handler },
  });
  createReceiver({
    scheme: stripe<Sent>(),
    secret,
    log,
    // @ts-expect-error: the event has no such field
    on: { "mail.sent": ({ reason }) => reason },
  });
  // @ts-expect-error: the events have no type
  expect(stripe<{ readonly kind: "a" }>()).toBeDefined();
});

test("without a type argument, the handlers are untyped", () => {
  for (const scheme of [stripe(), resend(), notion()]) {
    expectTypeOf(scheme).toExtend<Scheme>();
    createReceiver({
      scheme,
      secret,
      log,
      on: { "any.type": (event) => expectTypeOf(event).toEqualTypeOf<AnyEvent>() },
    });
  }
  createReceiver({
    scheme: stripe({ toleranceMs: 1_000 }),
    secret,
    log,
    on: { "any.type": (event) => expectTypeOf(event).toEqualTypeOf<AnyEvent>() },
  });
});

test("events types the handlers of a scheme without a type argument", () => {
  createReceiver({
    scheme: stripe(),
    secret,
    log,
    events: { "mail.sent": z.object({ type: z.literal("mail.sent"), count: z.coerce.number() }) },
    on: { "mail.sent": ({ count }) => expectTypeOf(count).toBeNumber() },
  });
  createReceiver({
    scheme: stripe(),
    secret,
    log,
    events: { "mail.sent": z.object({ type: z.literal("mail.sent") }) },
    // @ts-expect-error: the type is mail.sent
    on: { "mail.snet": handler },
  });
});

test("the events of the senders' own packages type the handlers", () => {
  createReceiver({
    scheme: stripe<Stripe.Event>(),
    secret,
    log,
    on: {
      "invoice.paid": ({ data }) => expectTypeOf(data.object.amount_paid).toBeNumber(),
      "customer.subscription.*": ({ type }) => expectTypeOf(type).toBeString(),
    },
  });
  createReceiver({
    scheme: resend<WebhookEventPayload>(),
    secret,
    log,
    on: {
      "email.bounced": ({ data }) => expectTypeOf(data.email_id).toBeString(),
      "email.*": ({ type }) => expectTypeOf(type).toBeString(),
    },
  });
  createReceiver({
    scheme: github<GithubEvent>(),
    secret,
    log,
    on: { "issues.opened": ({ issue }) => expectTypeOf(issue.title).toBeString() },
  });
  createReceiver({
    scheme: resend<WebhookEventPayload>(),
    secret,
    log,
    // @ts-expect-error: the field is email_id
    on: { "email.bounced": ({ data }) => data.emailId },
  });
});

test("the types are the same with TypeScript 5.9", () => {
  const path = fileURLToPath(import.meta.url);
  const program = ts.createProgram([path], {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    module: ts.ModuleKind.NodeNext,
    types: ["node"],
  });
  const errors = program
    .getSemanticDiagnostics(program.getSourceFile(path))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  expect(errors).toEqual([]);
});
