import { RetryError, type DeliveryContext } from "@svc-webhooks/core";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { expect, test } from "vitest";
import { queuesInbox, type QueueLike, type QueuesInboxOptions } from "../../src/queues.js";

/** Returns functions that accept a delivery, and run its message as an attempt of this number. */
function inboxOf(handler: (context: DeliveryContext) => void, options: QueuesInboxOptions = {}) {
  const messages: unknown[] = [];
  const letters: unknown[] = [];
  const queue: QueueLike = { send: async (body) => messages.push(body) };
  const inbox = queuesInbox(() => queue, options);
  const { receiver, receive } = observedReceiver({
    maxBodyBytes: inbox.maxBodyBytes,
    on: { "*": inbox((_event, context) => handler(context)) },
  });
  const dead = () => ({ send: async (body: unknown) => letters.push(body) });
  /** Returns what the consumer did with the message: "ack", or the delay of its retry in seconds. */
  const run = async (attempts: number): Promise<unknown> => {
    const settled: unknown[] = [];
    const message = {
      body: messages[0],
      attempts,
      ack: () => settled.push("ack"),
      retry: ({ delaySeconds }: { readonly delaySeconds: number }) => settled.push(delaySeconds),
    };
    await inbox.consumer(receiver, { dead })({ messages: [message] });
    expect(settled).toHaveLength(1);
    return settled[0];
  };
  return { receive, run, letters };
}

const fails = () => {
  throw new Error("down");
};

test("delays double from half a second to ten minutes, in whole seconds", async () => {
  const { receive, run } = inboxOf(fails);
  await receive();
  expect(await run(1)).toBe(1);
  for (const [attempts, most] of [
    [5, 16],
    [9, 256],
    [19, 600],
  ] as const) {
    const delay = await run(attempts);
    expect(delay).toSatisfy(Number.isInteger);
    expect(delay).toBeGreaterThanOrEqual(most / 2);
    expect(delay).toBeLessThanOrEqual(most);
  }
});

test("a RetryError is retried no sooner than it states, up to Cloudflare's longest delay", async () => {
  let retryAfterMs = 1_001;
  const { receive, run } = inboxOf(() => {
    throw new RetryError({ retryAfterMs });
  });
  await receive();
  expect(await run(1)).toBe(2);
  retryAfterMs = 1e12;
  expect(await run(2)).toBe(43_200);
  retryAfterMs = 0;
  expect(await run(5)).toBe(0);
});

test("the limit of attempts makes a dead letter, also after more attempts than it", async () => {
  const { receive, run, letters } = inboxOf(fails, { retry: { limit: 3 } });
  await receive();
  expect(await run(2)).toBe(2);
  expect(letters).toEqual([]);
  expect(await run(3)).toBe("ack");
  expect(await run(7)).toBe("ack");
  expect(letters).toMatchObject([
    { error: "down", attempts: 3 },
    { error: "down", attempts: 7 },
  ]);
});

test.each([
  ["text", "text", "text"],
  ["an error", new Error("line\n\ud800"), "line  "],
  ["a number", 5, "5"],
  ["an object", { message: 5 }, "5"],
  ["an object without a prototype", Object.create(null), "The error cannot be read."],
  [
    "an object whose message throws",
    {
      get message(): string {
        throw new Error("no");
      },
    },
    "The error cannot be read.",
  ],
])("a dead letter describes %s that a handler threw", async (_what, thrown, error) => {
  const { receive, run, letters } = inboxOf(
    () => {
      throw thrown;
    },
    { retry: { limit: 1 } },
  );
  await receive();
  expect(await run(1)).toBe("ack");
  expect(letters).toMatchObject([{ error }]);
});

test("headers that leave no room for the body end the delivery as queue_unavailable", async () => {
  const { receive } = inboxOf(() => {});
  const { headers, body } = await signed();
  const eventId = "e".repeat(126_000);
  const delivery = { method: "POST", headers: { ...headers, "x-svc-event-id": eventId }, body };
  const outcome = await receive(delivery);
  expect(outcome).toMatchObject({ code: "queue_unavailable", status: 503 });
});

test("a binding that does not exist ends the delivery as queue_unavailable, with the fix", async () => {
  const inbox = queuesInbox(() => undefined as never);
  const { receive, lines } = observedReceiver({
    maxBodyBytes: inbox.maxBodyBytes,
    on: { "*": inbox(() => {}) },
  });
  expect((await receive()).code).toBe("queue_unavailable");
  expect(lines.join("\n")).toContain(
    "`queue` must return a binding of `queues.producers` in wrangler.jsonc.",
  );
});

test("a binding of dead letters that does not exist is logged with the fix, and retried", async () => {
  const lines: string[] = [];
  const settled: unknown[] = [];
  const inbox = queuesInbox(() => ({ send: async () => {} }));
  const { receiver } = observedReceiver();
  const consume = inbox.consumer(receiver, {
    dead: () => undefined as never,
    logger: { error: (line) => lines.push(line) },
  });
  const ack = () => settled.push("ack");
  const retry = () => settled.push("retry");
  await consume({ messages: [{ body: "not a job", attempts: 1, ack, retry }] });
  expect(settled).toEqual(["retry"]);
  expect(lines).toEqual([
    expect.stringContaining(
      "`dead` must return a binding of `queues.producers` in wrangler.jsonc.",
    ),
  ]);
});

test("a type that is as long as a body does not take its room", async () => {
  const { receive, run } = inboxOf(() => {});
  expect((await receive(signed(eventBody("t".repeat(85_000))))).code).toBe("enqueued");
  expect(await run(1)).toBe("ack");
});
