import { createClient } from "@svc-webhooks/client";
import { createReceiver } from "@svc-webhooks/core";
import {
  emailEvents,
  type DomainUpdatedEvent,
  type EmailDeliveredEvent,
  type EmailSentEvent,
} from "@svc-webhooks/events";
import { createSandbox } from "@svc-webhooks/sandbox";
import { fixture, signedDelivery, type Fixtures } from "@svc-webhooks/testing";
import { beforeAll, describe, expect, expectTypeOf, test } from "vitest";

const types = ["email.sent", "email.delivered", "domain.updated"] as const;

/** Returns a value with its types in place of its texts, so that only its shape counts. */
const shapeOf = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_name, part: unknown) =>
    typeof part === "object" ? part : typeof part,
  );

/** The events that the sandbox sends, by type. */
const sent = new Map<string, Readonly<Record<string, unknown>>>();

beforeAll(async () => {
  const sandbox = createSandbox({ clock: "manual" });
  sandbox.deliverTo(async (request) => {
    const event = (await request.json()) as { readonly type: string };
    sent.set(event.type, event);
    return new Response();
  });
  const { domains, emails, webhookEndpoints } = createClient({
    apiKey: "svc_test",
    baseUrl: "http://sandbox.test",
    fetch: (url, init) => sandbox.fetch(new Request(url, init)),
  });
  await webhookEndpoints.create({ url: "http://localhost/webhooks", event_types: types });
  const { domain_id } = await domains.create({ domain_name: "example.com" });
  await domains.verify(domain_id);
  const email = { from: "shop@example.com", to: ["ada@example.org"], subject: "Hi", text: "Hi" };
  await emails.send(email);
  await sandbox.clock.advance(60_000);
  await sandbox.close();
});

describe.each(types)("the fixture of %s", (type) => {
  test("has the fields of the sandbox's event, in their order, and its status", () => {
    const event = sent.get(type);
    expect(JSON.stringify(shapeOf(fixture(type)))).toBe(JSON.stringify(shapeOf(event)));
    expect(event).toMatchObject({ data: { status: fixture(type).data.status } });
  });

  test("loses nothing in the schema of emailEvents", () => {
    expect(emailEvents[type].parse(fixture(type))).toEqual(fixture(type));
  });

  test("is handled", async () => {
    const seen: unknown[] = [];
    const on = { "*": (event: unknown) => void seen.push(event) };
    const receiver = createReceiver({ secret: "whsec_test", events: emailEvents, on });
    const { code } = await receiver.receive(await signedDelivery(fixture(type)));
    expect({ code, seen }).toEqual({ code: "processed", seen: [fixture(type)] });
  });

  test("is the same in each call, and another one with another n", () => {
    expect(fixture(type)).toEqual(fixture(type, {}, 1));
    expect(fixture(type)).not.toBe(fixture(type));
    expect(fixture(type, {}, 2).event_id).not.toBe(fixture(type).event_id);
    expect(fixture(type, {}, 2).created_at).toBe("2026-01-01T00:00:00.000Z");
  });
});

test("fixtures are assignable to the event types of @svc-webhooks/events", () => {
  expectTypeOf(fixture("email.sent")).toExtend<EmailSentEvent>();
  expectTypeOf(fixture("email.delivered")).toExtend<EmailDeliveredEvent>();
  expectTypeOf(fixture("domain.updated")).toExtend<DomainUpdatedEvent>();
  expectTypeOf<keyof Fixtures>().toEqualTypeOf<keyof typeof emailEvents>();
});

test("events of different types have different ids", () => {
  expect(new Set(types.map((type) => fixture(type).event_id)).size).toBe(3);
  expect(fixture("email.sent").data.send_id).toBe(fixture("email.delivered").data.send_id);
});

test("overrides replace fields at any depth, keep their neighbors, and add fields", () => {
  const event = fixture("email.sent", {
    event_id: "evt_9",
    extra: { kept: [1] },
    data: { subject: "Welcome", recipients: { to: ["a@x.test", "b@x.test"], cc: [] }, more: null },
  });
  const { data } = fixture("email.sent");
  expect(event).toEqual({
    ...fixture("email.sent"),
    event_id: "evt_9",
    extra: { kept: [1] },
    data: {
      ...data,
      subject: "Welcome",
      recipients: { to: ["a@x.test", "b@x.test"], cc: [] },
      more: null,
    },
  });
});

test("undefined removes a field", () => {
  const event = fixture("domain.updated", { event_id: undefined, data: { status: undefined } });
  expect(Object.keys(event)).toEqual(["type", "created_at", "data"]);
  expect(Object.keys(event.data)).toEqual(["domain_id", "domain_name"]);
});

test("a value of another type, and another type, do not compile", () => {
  // @ts-expect-error: a subject is a string
  expect(fixture("email.sent", { data: { subject: 5 } })).toBeDefined();
  // @ts-expect-error: recipients are a list
  expect(fixture("email.sent", { data: { recipients: { to: "a@x.test" } } })).toBeDefined();
  // @ts-expect-error: the type is the first argument
  expect(fixture("email.sent", { type: "email.delivered" })).toBeDefined();
});

test("refuses a type that it does not know", () => {
  const refused = { code: "invalid_option", option: "type" };
  for (const type of ["email.opened", "constructor", undefined]) {
    expect(() => fixture(type as never)).toThrow(expect.objectContaining(refused) as Error);
  }
});
