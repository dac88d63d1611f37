import type { createReceiver } from "@svc-webhooks/core";
import type { InboxJob } from "@svc-webhooks/core/inbox";
import type { emailEvents } from "@svc-webhooks/events";
import { expectTypeOf, test } from "vitest";
import type { DeadLetter, queuesInbox, QueuesInbox } from "../../src/queues.js";

interface Env {
  readonly QUEUE: Queue;
  readonly JOBS: Queue<InboxJob>;
  readonly DEAD: Queue<DeadLetter>;
}

test("accepts bindings that are typed by Cloudflare, with and without the type of their messages", () => {
  const inboxes = (env: Env, make: typeof queuesInbox) => [
    make(() => env.QUEUE),
    make(() => env.JOBS, { retry: { limit: 5 } }),
  ];
  expectTypeOf(inboxes).returns.toEqualTypeOf<QueuesInbox[]>();
});

test("its consumer is the queue handler of a Worker", () => {
  const worker = (
    env: Env,
    make: typeof queuesInbox,
    receiver: ReturnType<typeof createReceiver>,
  ) => {
    const consume = make(() => env.QUEUE).consumer(receiver, { dead: () => env.DEAD });
    return { queue: consume } satisfies ExportedHandler<Env, InboxJob>;
  };
  expectTypeOf(worker).returns.toExtend<ExportedHandler<Env>>();
});

test("handlers have the types of their events", () => {
  const build = (inbox: QueuesInbox, make: typeof createReceiver, events: typeof emailEvents) =>
    make({
      secret: "whsec_test",
      events,
      on: {
        "email.delivered": inbox((event) => {
          expectTypeOf(event.type).toEqualTypeOf<"email.delivered">();
          // @ts-expect-error A field of another type.
          expectTypeOf(event.type).toEqualTypeOf<"email.sent">();
        }),
      },
    });
  expectTypeOf(build).returns.toHaveProperty("resume");
});
