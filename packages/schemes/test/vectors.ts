import type { Scheme } from "@svc-webhooks/core";
import { github, paddle, sendgrid, slack, standardWebhooks } from "@svc-webhooks/schemes";

/** An example that a sender has published. */
export interface Vector {
  readonly source: string;
  readonly scheme: Scheme;
  readonly secret: string;
  readonly seconds?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly code: string;
}

export const vectors: readonly Vector[] = [
  {
    source: "standardwebhooks, webhook.test.ts",
    scheme: standardWebhooks(),
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    seconds: 1_614_265_330,
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    body: '{"test": 2432232314}',
    // The event has no type.
    code: "event_untyped",
  },
  {
    source: "GitHub, validating webhook deliveries",
    scheme: github(),
    secret: "It's a Secret to Everybody",
    headers: {
      "x-hub-signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      "x-github-delivery": "1",
      "x-github-event": "ping",
    },
    body: "Hello, World!",
    code: "malformed_body",
  },
  {
    source: "Slack, verifying requests",
    scheme: slack(),
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    seconds: 1_531_420_618,
    headers: {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
    // A slash command, which is a form.
    body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    code: "malformed_body",
  },
  {
    source: "paddle-node-sdk, webhooks-validator.node.test.ts",
    scheme: paddle(),
    secret: "VALID_SECRET",
    seconds: 1_698_796_800,
    headers: {
      "paddle-signature":
        "ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9",
    },
    body: '{"data": ["1", "2"]}',
    // The body has no notification_id.
    code: "delivery_id_missing",
  },
  {
    source: "paddle-node-sdk, with several signatures",
    scheme: paddle(),
    secret: "VALID_SECRET",
    seconds: 1_698_796_800,
    headers: {
      "paddle-signature":
        "ts=1698796800;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;h2=RANDOM_HASH",
    },
    body: '{"data": "value"}',
    code: "delivery_id_missing",
  },
  {
    source: "sendgrid-nodejs, eventwebhook.spec.js",
    scheme: sendgrid(),
    secret:
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
    seconds: 1_600_112_502,
    headers: {
      "x-twilio-email-event-webhook-timestamp": "1600112502",
      "x-twilio-email-event-webhook-signature":
        "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
    },
    body: '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
    code: "processed",
  },
  {
    source: "SendGrid's other libraries, whose body is one event",
    scheme: sendgrid(),
    secret:
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA==",
    seconds: 1_588_788_367,
    headers: {
      "x-twilio-email-event-webhook-timestamp": "1588788367",
      "x-twilio-email-event-webhook-signature":
        "MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0=",
    },
    body: '{"category":"example_payload","event":"test_event","message_id":"message_id"}',
    code: "processed",
  },
];
