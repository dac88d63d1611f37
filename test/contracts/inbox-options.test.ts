import { createReceiver } from "@svc-webhooks/core";
import { openSqlite } from "@svc-webhooks/kit/sqlite";
import { memoryInbox } from "@svc-webhooks/testing/inbox";
import { bullmqInbox } from "svc-webhooks/bullmq";
import { queuesInbox } from "svc-webhooks/cloudflare/queues";
import { pgBossInbox } from "svc-webhooks/pg-boss";
import { sqliteInbox } from "svc-webhooks/sqlite";
import { describe, expect, test } from "vitest";

interface Engine {
  readonly make: (options: object) => unknown;
  /** The options that this engine has. */
  readonly has: readonly string[];
}

const boss = { send() {}, redrive() {} };
const queue = { name: "q", backend: {}, add() {}, getJobState() {} };

const engines: Readonly<Record<string, Engine>> = {
  memoryInbox: { make: memoryInbox, has: ["partitionBy", "afterDead", "retry"] },
  pgBossInbox: {
    make: (options) => pgBossInbox(boss as never, options),
    has: ["queue", "partitionBy", "afterDead", "retry", "onDiscard"],
  },
  bullmqInbox: {
    make: (options) => bullmqInbox(queue as never, options),
    has: ["retry", "onDiscard"],
  },
  sqliteInbox: {
    make: (options) => sqliteInbox(openSqlite(), options),
    has: ["queue", "partitionBy", "afterDead", "retry", "onDiscard"],
  },
  queuesInbox: {
    make: (options) => queuesInbox(() => ({}) as never, options),
    has: ["retry"],
  },
};

const partitionBy = () => "a";
const invalid: readonly (readonly [option: string, options: object])[] = [
  ["queue", { queue: "" }],
  ["queue", { queue: "mail box" }],
  ["queue", { queue: "mail.dead" }],
  ["queue", { queue: "x".repeat(201) }],
  ["queue", { queue: 5 }],
  ["partitionBy", { partitionBy: "order_id" }],
  ["afterDead", { afterDead: "hold" }],
  ["afterDead", { partitionBy, afterDead: "stop" }],
  ["onDiscard", { onDiscard: true }],
  ["retry", { retry: 5 }],
  ["retry.limit", { retry: { limit: 0 } }],
  ["retry.limit", { retry: { limit: 1.5 } }],
  ["retry.firstMs", { retry: { firstMs: 0 } }],
  ["retry.mostMs", { retry: { firstMs: 5_000, mostMs: 4_999 } }],
];
const valid = [
  { queue: "a/b-c_d.e" },
  { queue: undefined },
  { afterDead: "continue" },
  { partitionBy, afterDead: "hold" },
  { onDiscard() {} },
  { retry: { limit: 100, firstMs: 1_000, mostMs: 1_000 } },
];

describe.each(Object.entries(engines))("%s", (_name, { make, has }) => {
  const applies = (options: object) => Object.keys(options).every((name) => has.includes(name));

  test.each(invalid.filter(([, options]) => applies(options)))(
    "refuses an invalid `%s`: %j",
    (option, options) => {
      expect(() => make(options)).toThrow(
        expect.objectContaining({ code: "invalid_option", option }),
      );
    },
  );

  test.each(valid.filter(applies))("accepts %j", (options) => {
    expect(() => make(options)).not.toThrow();
  });

  test.each([
    ["que", { que: "mail" }],
    ["retry.most", { retry: { most: 5 } }],
  ])("refuses the unknown option `%s`", (option, options) => {
    expect(() => make(options)).toThrow(
      expect.objectContaining({ code: "unknown_option", option }),
    );
  });
});

const receiver = createReceiver({ secret: "whsec_test", on: { "*": () => {} } });

test.each([
  ["memoryInbox", () => memoryInbox()],
  ["pgBossInbox", () => pgBossInbox(boss as never)],
  ["sqliteInbox", () => sqliteInbox(openSqlite())],
])("`work` of %s refuses invalid options", async (_name, make) => {
  for (const concurrency of [0, 1_001, 1.5, "4"]) {
    const working = make().work(receiver, { concurrency } as never);
    await expect(working).rejects.toMatchObject({ code: "invalid_option", option: "concurrency" });
  }
  const working = make().work(receiver, { concurrent: 4 } as never);
  await expect(working).rejects.toMatchObject({ code: "unknown_option", option: "concurrent" });
});
