import { createReceiver, ConfigError } from "@svc-webhooks/core";
import { expect, test } from "vitest";
import { queuesInbox } from "../../src/queues.js";

const queue = () => ({ send: async () => {} });
const receiver = { resume: () => {} };

test.each<[unknown, unknown, string, string]>([
  [undefined, {}, "invalid_option", "queue"],
  [queue(), {}, "invalid_option", "queue"],
  [queue, null, "invalid_option", "options"],
  [queue, { retries: {} }, "unknown_option", "retries"],
  [queue, { retry: null }, "invalid_option", "retry"],
  [queue, { retry: { most: 5 } }, "unknown_option", "retry.most"],
  [queue, { retry: { limit: 0 } }, "invalid_option", "retry.limit"],
  [queue, { retry: { limit: 101 } }, "invalid_option", "retry.limit"],
  [queue, { retry: { firstMs: 1.5 } }, "invalid_option", "retry.firstMs"],
  [queue, { retry: { firstMs: 10, mostMs: 5 } }, "invalid_option", "retry.mostMs"],
  [queue, { retry: { mostMs: 43_200_001 } }, "invalid_option", "retry.mostMs"],
])("refuses the queue %o with the options %j", (given, options, code, option) => {
  const build = () => queuesInbox(given as never, options as object);
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(expect.objectContaining({ code, option }) as Error);
});

test.each<[unknown, unknown, string, string]>([
  [{}, { dead: queue }, "invalid_option", "receiver"],
  [undefined, { dead: queue }, "invalid_option", "receiver"],
  [receiver, undefined, "invalid_option", "options"],
  [receiver, {}, "invalid_option", "dead"],
  [receiver, { dead: queue() }, "invalid_option", "dead"],
  [receiver, { dead: queue, wait: 5 }, "unknown_option", "wait"],
  [receiver, { dead: queue, waitMs: -1 }, "invalid_option", "waitMs"],
  [receiver, { dead: queue, waitMs: 600_001 }, "invalid_option", "waitMs"],
  [receiver, { dead: queue, logger: {} }, "invalid_option", "logger"],
])("refuses a consumer of %j with the options %j", (given, options, code, option) => {
  const build = () => queuesInbox(queue).consumer(given as never, options as never);
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(expect.objectContaining({ code, option }) as Error);
});

test("accepts the limits of its options", () => {
  const inbox = queuesInbox(queue, { retry: { limit: 100, firstMs: 1, mostMs: 43_200_000 } });
  for (const waitMs of [undefined, 0, 600_000]) {
    expect(inbox.consumer(receiver as never, { dead: queue, waitMs })).toBeTypeOf("function");
  }
});

test("a receiver that accepts larger bodies than a message holds is refused when it is built", () => {
  const inbox = queuesInbox(queue);
  const build = (maxBodyBytes?: number) => () =>
    createReceiver({ secret: "whsec_test", maxBodyBytes, on: { "*": inbox(() => {}) } });
  expect(build(inbox.maxBodyBytes)).not.toThrow();
  for (const tooLarge of [undefined, inbox.maxBodyBytes + 1]) {
    expect(build(tooLarge)).toThrow("stores bodies of up to 90000 bytes. Set `maxBodyBytes`");
  }
});
