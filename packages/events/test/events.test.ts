import { createReceiver, eventType, type ReceiverOptions } from "@svc-webhooks/core";
import { signedDelivery } from "@svc-webhooks/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { emailEvents, type EmailSentEvent } from "../src/index.js";

const secret = "whsec_test";

/** Receives one event with a `"*"` handler and returns the outcome code and the handler's event. */
async function receive(event: object, events: ReceiverOptions["events"] = emailEvents) {
  let got: unknown;
  const on = { "*": (received: unknown) => void (got = received) };
  const receiver = createReceiver({ secret, events, on, log: () => {} });
  const { code } = await receiver.receive(await signedDelivery(event));
  return { code, got };
}

describe.each(["email.sent", "email.delivered", "domain.updated"])("%s", (type) => {
  test.each([
    ["only its type", {}],
    ["data that is not an object", { data: "x" }],
    ["data that is null", { data: null }],
    ["data that is a list", { data: [] }],
  ])("with %s is processed, without data", async (_, rest) => {
    const { code, got } = await receive({ type, ...rest });
    expect(code).toBe("processed");
    expect(got).toEqual({ type, data: undefined });
  });

  test("keeps unknown fields", async () => {
    const event = { type, event_id: "evt_1", data: { brand_new: { deep: [1] } }, more: null };
    expect((await receive(event)).got).toMatchObject(event);
  });
});

test("treats a field of the wrong type as absent and keeps the other fields", async () => {
  const data = { email_id: 5, subject: "Hello", recipients: { to: "a@example.com", cc: ["b"] } };
  expect(await receive({ type: "email.sent", data })).toMatchObject({
    code: "processed",
    got: {
      data: { email_id: undefined, subject: "Hello", recipients: { to: undefined, cc: ["b"] } },
    },
  });
});

const email = {
  email_id: "msg_1",
  message_id: "msg_2",
  send_id: "send_1",
  status: "delivered",
  subject: "Hello",
  from: "a@example.com",
  recipients: { to: ["b@example.com"] },
  created_at: "2026-11-21T00:00:00Z",
};

test.each([
  ["email.delivered", email],
  ["domain.updated", { domain_id: "dom_1", domain_name: "example.com", status: "verified" }],
])("passes the interface document's fields of %s through unchanged", async (type, data) => {
  expect((await receive({ type, data })).got).toEqual({ type, data });
});

test("can be extended with a stricter schema, which rejects an invalid event", async () => {
  const bounced = z.looseObject({ data: z.object({ reason: z.string() }) });
  const events = { ...emailEvents, "email.bounced": bounced };
  const event = { type: "email.bounced", data: { reason: "full" } };
  expect((await receive(event, events)).code).toBe("processed");
  expect((await receive({ type: "email.bounced" }, events)).code).toBe("event_invalid");
});

interface Bounced {
  readonly type: "email.bounced";
  readonly data: { readonly reason: string };
}

test("types the handlers' events", () => {
  createReceiver({
    secret,
    events: { ...emailEvents, "email.bounced": eventType<Bounced>() },
    on: {
      "email.sent": (event) => {
        expectTypeOf(event).toEqualTypeOf<EmailSentEvent>();
        expectTypeOf(event.data?.recipients?.to).toEqualTypeOf<string[] | undefined>();
        // @ts-expect-error: a misspelt field
        return event.data?.emial_id;
      },
      "email.bounced": ({ data }) => expectTypeOf(data.reason).toEqualTypeOf<string>(),
      "*": (event) => {
        if (event.type === "email.opened") return event.data?.["ip"];
        if (event.type === "domain.updated") return event.data?.domain_name;
        // @ts-expect-error: a field of another event
        return event.type === "email.delivered" && event.data?.domain_name;
      },
    },
  });
});
