import { secret } from "@svc-webhooks/kit/deliveries";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as v from "valibot";
import { type } from "arktype";
import { z } from "zod";
import {
  createReceiver,
  fields,
  isEvent,
  memoryStore,
  type AnyEvent,
  type DedupeBy,
  type DeliveryContext,
  type DeliveryStore,
  type EventFor,
  type HandlerKey,
  type Handlers,
  type ReceiverOptions,
  eventType,
  type UnknownEvent,
} from "../src/index.js";
import { defineInbox } from "../src/inbox.js";
import { send } from "./support.js";

// tsc checks these tests. Running them too keeps their code correct.

const events = {
  "email.sent": z.object({ type: z.literal("email.sent"), count: z.string().transform(Number) }),
  "email.bounced.hard": v.object({ type: v.literal("email.bounced.hard"), reason: v.string() }),
  "email.bounced.soft": type({ type: "'email.bounced.soft'", until: "string.date.parse" }),
  "domain.updated": z.object({ type: z.literal("domain.updated"), name: z.string() }),
};

interface Sent {
  type: "email.sent";
  count: number;
}
interface HardBounce {
  type: "email.bounced.hard";
  reason: string;
}
interface SoftBounce {
  type: "email.bounced.soft";
  until: Date;
}
interface DomainUpdated {
  type: "domain.updated";
  name: string;
}

type Bounce = HardBounce | SoftBounce;
type Unlisted = UnknownEvent<Sent | Bounce | DomainUpdated>;
type EveryEvent = Sent | Bounce | DomainUpdated | Unlisted;

const handler = () => {};

describe("a handler under an exact type gets the output of its schema", () => {
  test("as an arrow function, async arrow function, method and async method", () => {
    createReceiver({
      secret,
      events,
      on: {
        "email.sent": (event, context) => {
          expectTypeOf(event).toEqualTypeOf<Sent>();
          expectTypeOf(context).toEqualTypeOf<DeliveryContext>();
        },
        "email.bounced.hard": async (event) => expectTypeOf(event).toEqualTypeOf<HardBounce>(),
        "email.bounced.soft"(event, { signal }) {
          expectTypeOf(event).toEqualTypeOf<SoftBounce>();
          expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        },
        async "domain.updated"(event) {
          expectTypeOf(event).toEqualTypeOf<DomainUpdated>();
        },
      },
    });
    expectTypeOf<EventFor<typeof events, "email.sent">>().toEqualTypeOf<Sent>();
  });

  test("also from inline `events`", () => {
    interface Ping {
      type: "ping";
      at: number;
    }
    createReceiver({
      secret,
      events: { ping: z.object({ type: z.literal("ping"), at: z.number() }) },
      on: {
        ping: ({ at }) => expectTypeOf(at).toEqualTypeOf<number>(),
        "*": (event) => expectTypeOf(event).toEqualTypeOf<UnknownEvent<Ping>>(),
      },
    });
  });

  test("also from async schemas", () => {
    const at = v.pipeAsync(v.string(), v.transform(Number));
    createReceiver({
      secret,
      events: { ping: v.objectAsync({ type: v.literal("ping"), at }) },
      on: { ping: (event) => expectTypeOf(event.at).toEqualTypeOf<number>() },
    });
  });

  test("or may accept a wider event, but not another one", () => {
    const log = ({ type: name }: { readonly type: unknown }) => String(name);
    createReceiver({ secret, events, on: { "email.sent": log, "email.*": log, "*": log } });
    const domain = ({ name }: DomainUpdated) => name;
    // @ts-expect-error: the event of this type is different
    expect(createReceiver({ secret, events, on: { "email.sent": domain } })).toBeDefined();
  });
});

describe("a handler under a pattern gets the types that no more specific key handles", () => {
  test("next to exact types and longer prefixes", () => {
    createReceiver({
      secret,
      events,
      on: {
        "email.sent": (event) => expectTypeOf(event).toEqualTypeOf<Sent>(),
        "email.bounced.*": (event) => expectTypeOf(event).toEqualTypeOf<Bounce | Unlisted>(),
        "email.*": (event) => expectTypeOf(event).toEqualTypeOf<Unlisted>(),
        "*": (event) => expectTypeOf(event).toEqualTypeOf<DomainUpdated | Unlisted>(),
      },
    });
  });

  test("alone, all types that it matches", () => {
    type EmailEvent = Sent | Bounce | Unlisted;
    createReceiver({
      secret,
      events,
      on: { "email.*": (event) => expectTypeOf(event).toEqualTypeOf<EmailEvent>() },
    });
    createReceiver({
      secret,
      events,
      on: { "*": (event) => expectTypeOf(event).toEqualTypeOf<EveryEvent>() },
    });
  });

  test("for any kind of function and any order of keys", () => {
    type Unhandled = SoftBounce | DomainUpdated | Unlisted;
    createReceiver({
      secret,
      events,
      on: {
        "*": async (event) => expectTypeOf(event).toEqualTypeOf<Unhandled>(),
        "email.bounced.hard": handler,
        "email.sent"() {},
      },
    });
  });
});

test("without `events` every handler gets AnyEvent, whose fields are unknown", () => {
  createReceiver({
    secret,
    on: {
      "email.sent": (event, context) => {
        expectTypeOf(event).toEqualTypeOf<AnyEvent>();
        expectTypeOf(event["data"]).toBeUnknown();
        expectTypeOf(context).toEqualTypeOf<DeliveryContext>();
      },
      async "email.*"(event) {
        expectTypeOf(event).toEqualTypeOf<AnyEvent>();
      },
      "*": (event) => expectTypeOf(event.type).toEqualTypeOf<string>(),
    },
  });
  expectTypeOf<HandlerKey<{}>>().toEqualTypeOf<string>();
});

describe("a declaration outside createReceiver", () => {
  test("may be a map of type Handlers<typeof events>, whose patterns get all types that they match", () => {
    const on: Handlers<typeof events> = {
      "email.sent": (event) => expectTypeOf(event).toEqualTypeOf<Sent>(),
      "email.bounced.*": (event) => expectTypeOf(event).toEqualTypeOf<Bounce | Unlisted>(),
      async "*"(event) {
        expectTypeOf(event).toEqualTypeOf<EveryEvent>();
      },
    };
    createReceiver({ secret, events, on });
    createReceiver({ secret, events, on: { ...on, "domain.updated": handler } });
  });

  test("may be a map of type Handlers, without schemas", () => {
    const on: Handlers = { "email.sent": (event) => expectTypeOf(event).toEqualTypeOf<AnyEvent>() };
    expect(createReceiver({ secret, on })).toBeDefined();
  });

  test("may be all options, of type ReceiverOptions<typeof events>", () => {
    const options: ReceiverOptions<typeof events> = {
      secret,
      events,
      on: {
        "email.sent": (event) => expectTypeOf(event).toEqualTypeOf<Sent>(),
        "*": (event, { deliveryId }) => {
          expectTypeOf(event).toEqualTypeOf<EveryEvent>();
          expectTypeOf(deliveryId).toEqualTypeOf<string>();
        },
      },
      onParked: (error, context) => {
        expectTypeOf(error).toBeUnknown();
        expectTypeOf(context).toEqualTypeOf<DeliveryContext>();
      },
    };
    expect(createReceiver(options)).toBeDefined();
    expect(createReceiver({ ...options, maxRuns: 3 })).toBeDefined();
  });

  test("may be all options, of type ReceiverOptions, without schemas", () => {
    const options: ReceiverOptions = {
      secret,
      on: { "*": (event) => expectTypeOf(event).toEqualTypeOf<AnyEvent>() },
    };
    expect(createReceiver(options)).toBeDefined();
  });
});

describe("narrowing", () => {
  interface Opened {
    readonly type: "email.opened";
    readonly data?: { readonly at?: string | undefined } | undefined;
  }
  const narrowed = { ...events, "email.opened": eventType<Opened>() };

  test("by === and switch gives a listed event its fields, and is possible to other types", () => {
    createReceiver({
      secret,
      events: narrowed,
      on: {
        "*": (event) => {
          expectTypeOf(event.type).toEqualTypeOf<string>();
          if (event.type === "email.sent") expectTypeOf(event.count).toEqualTypeOf<number>();
          if (event.type === "email.clicked") {
            expectTypeOf(event["url"]).toBeUnknown();
            expectTypeOf(event.data?.["url"]).toBeUnknown();
            // @ts-expect-error: a field that listed events require is not validated here
            event.count.toFixed();
          }
          switch (event.type) {
            case "email.opened":
              expectTypeOf(event.data?.at).toEqualTypeOf<string | undefined>();
              // @ts-expect-error: no such field
              return event.data?.att;
            case "email.bounced.soft":
              expectTypeOf(event.until).toEqualTypeOf<Date>();
              // @ts-expect-error: a field of another type
              return event.name;
            default:
              return event.type;
          }
        },
      },
    });
  });

  test("by isEvent also narrows the rest", () => {
    const seen: unknown[] = [];
    const look = (event: EveryEvent) => {
      if (isEvent(event, "email.sent")) {
        expectTypeOf(event).toEqualTypeOf<Sent>();
        seen.push(event.count);
      } else expectTypeOf(event).toEqualTypeOf<Exclude<EveryEvent, Sent>>();
    };
    look({ type: "email.sent", count: 3 });
    look({ type: "domain.updated", name: "example.org" });
    expect(seen).toEqual([3]);
  });

  test("by isEvent to a type that no schema lists leaves its fields unknown", () => {
    const opened = { type: "email.opened", data: 1 } as unknown as EveryEvent;
    const data = isEvent(opened, "email.opened") && opened["data"];
    expectTypeOf(data).toBeUnknown();
    expect(data).toBe(1);
  });
});

test("fields gives the fields that a type does not name", () => {
  const sent: Sent = { type: "email.sent", count: 1 };
  expectTypeOf(fields(sent)["campaign"]).toBeUnknown();
  expect(fields(Object.assign(sent, { campaign: "may" }))["campaign"]).toBe("may");
  expect([fields(undefined), fields(null)]).toEqual([{}, {}]);
});

test("eventType gives an event a type and passes any value unchanged", async () => {
  const schema = eventType<Sent>();
  expectTypeOf<EventFor<{ "email.sent": typeof schema }, "email.sent">>().toEqualTypeOf<Sent>();
  const event = { type: "email.sent", count: "not a number" };
  expect(await schema["~standard"].validate(event)).toEqual({ value: event });
  // @ts-expect-error: an event has a type
  eventType<{ count: number }>();
});

test("a handler is called without `this`", async () => {
  const seen: unknown[] = [];
  const on = {
    "*"(this: unknown) {
      seen.push(this);
    },
  };
  await send(createReceiver({ secret, on }));
  expect(seen).toEqual([undefined]);
});
describe("mistakes do not compile:", () => {
  test("a misspelt key", () => {
    // @ts-expect-error: the type is email.sent
    expect(createReceiver({ secret, events, on: { "email.snet": handler } })).toBeDefined();
    // @ts-expect-error: no type has this prefix
    expect(createReceiver({ secret, events, on: { "mail.*": handler } })).toBeDefined();
    // @ts-expect-error: patterns end after a dot
    expect(() => createReceiver({ secret, events, on: { "email*": handler } })).toThrow("on[");
    // @ts-expect-error: the type is email.sent
    const on: Handlers<typeof events> = { "email.snet": handler };
    // @ts-expect-error: nor is the map assignable to `on`
    expect(createReceiver({ secret, events, on: { ...on, "email.snet": handler } })).toBeDefined();
  });

  test("a misspelt option", () => {
    // @ts-expect-error: the option is maxRuns
    expect(() => createReceiver({ secret, events, on: { "*": handler }, maxRun: 3 })).toThrow(
      "maxRun",
    );
  });

  test("dedupeBy event without an eventId", () => {
    const dedupe = { secret, on: { "*": handler }, dedupeBy: "event" } as const;
    // @ts-expect-error: it needs eventId
    expect(() => createReceiver(dedupe)).toThrow("`eventId` is missing.");
    const options: ReceiverOptions = dedupe;
    expect(createReceiver({ ...options, eventId: () => "evt_1" })).toBeDefined();
    const dedupeBy = ["event", "body"].find((word): word is DedupeBy => word === "event");
    const eventId = () => "evt_1";
    expect(createReceiver({ ...dedupe, dedupeBy, eventId })).toBeDefined();
  });

  test("events that are not schemas", () => {
    expect(() =>
      // @ts-expect-error: a function is not a Standard Schema
      createReceiver({ secret, events: { "email.sent": handler }, on: { "*": handler } }),
    ).toThrow("a Standard Schema");
  });

  test("an unknown onStoreError", () => {
    expect(() =>
      // @ts-expect-error: it is "refuse" or "process"
      createReceiver({ secret, on: { "*": handler }, onStoreError: "ignore" }),
    ).toThrow('"refuse" or "process"');
  });
});

test("with exactOptionalPropertyTypes every option may be undefined", () => {
  const isConfigured = (): boolean => false;
  const perhaps = <Value>(value: Value) => (isConfigured() ? value : undefined);
  const store: DeliveryStore | undefined = perhaps(memoryStore());
  const options: ReceiverOptions<typeof events> = {
    secret,
    store,
    events: perhaps(events),
    name: perhaps("billing"),
    maxRuns: perhaps(3),
    onParked: perhaps(() => {}),
    onStoreError: perhaps("process" as const),
    storeTimeouts: { claim: perhaps(5) },
    on: { "*": () => {}, "email.sent": perhaps(() => {}) },
  };
  expect(createReceiver(options)).toBeDefined();
  createReceiver({ secret, store, maxRuns: perhaps(3), on: { "*": handler } });
  createReceiver({ secret, events, on: { "*": handler, "email.sent": perhaps(() => {}) } });
});

test("nothing is any", () => {
  createReceiver({
    secret,
    events,
    on: {
      "email.sent": (event, context) => {
        expectTypeOf(event).not.toBeAny();
        expectTypeOf(context).not.toBeAny();
      },
      "*": (event) => expectTypeOf(event).not.toBeAny(),
    },
    onHandlerError: (error) => expectTypeOf(error).toBeUnknown(),
    onParked: (error) => expectTypeOf(error).toBeUnknown(),
    onInternalError: (error) => expectTypeOf(error).toBeUnknown(),
  });
  expectTypeOf<EventFor<typeof events, "*">>().not.toBeAny();
  expectTypeOf<AnyEvent["data"]>().toBeUnknown();
});

describe("an inbox handler", () => {
  const inbox = defineInbox(async () => {});

  test("has the event of its key, exact or a pattern", () => {
    createReceiver({
      secret,
      events,
      on: {
        "email.sent": inbox((event) => expectTypeOf(event).toEqualTypeOf<Sent>()),
        "email.bounced.*": inbox((event) => {
          expectTypeOf(event).toEqualTypeOf<EventFor<typeof events, "email.bounced.*">>();
        }),
        // @ts-expect-error the event has no such field
        "domain.updated": inbox((event) => event.count),
      },
    });
  });

  test("has any event without schemas, and may be declared elsewhere", () => {
    const sent = inbox((event: Sent) => expectTypeOf(event.count).toBeNumber());
    createReceiver({ secret, events, on: { "email.sent": sent } });
    createReceiver({
      secret,
      on: {
        "*": inbox((event) => expectTypeOf(event).toEqualTypeOf<AnyEvent>()),
        "email.sent": inbox(),
      },
    });
  });
});
