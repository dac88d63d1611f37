import type { CommonOptions, Receiver } from "@svc-webhooks/core";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import { crashTest, type World } from "@svc-webhooks/testing/crash-test";
import type { Pool } from "pg";
import { expect, test } from "vitest";
import * as expressBasic from "../../examples/express-basic/src/app.js";
import { tables } from "../../examples/express-postgres/src/orders.js";
import { createOrdersReceiver } from "../../examples/express-postgres/src/receiver.js";
import * as expressRedis from "../../examples/express-redis/src/receiver.js";
import * as honoNode from "../../examples/hono-node/src/receiver.js";
import * as nextApp from "../../examples/next-app/lib/receiver.js";
import * as nextPages from "../../examples/next-pages/lib/receiver.js";
import { codeIn } from "@svc-webhooks/kit/tables";
import { textOf } from "../package/readme.js";

const logger = { info() {}, warn() {}, error() {} };
const optionsOf = ({ secret, clock, store }: World<Pool>): CommonOptions => ({
  secret,
  clock,
  store,
  logger,
});

interface Example {
  readonly name: string;
  readonly receiver: (world: World<Pool>) => Receiver;
  readonly events?: readonly unknown[];
  readonly prepare?: (world: Pick<World<Pool>, "pool">) => Promise<void>;
}

const delivered = fixture("email.delivered");
const bounced = { ...fixture("email.delivered", {}, 2), type: "email.bounced" };
const printed = ({ effect }: World<Pool>) =>
  effect("delivered", (_emailId: string | undefined) => {});

const examples: readonly Example[] = [
  {
    name: "express-basic",
    events: [delivered, fixture("domain.updated")],
    receiver: (world) =>
      expressBasic.createMailReceiver(
        { delivered: printed(world), domainUpdated: world.effect("domainUpdated", () => {}) },
        optionsOf(world),
      ),
  },
  {
    name: "express-postgres",
    events: [delivered, bounced],
    prepare: async ({ pool }) => {
      await migrate(pool);
      await pool.query(tables);
      await pool.query("insert into orders (id) values (1)");
      await pool.query("insert into order_emails (order_id, email_id) values (1, $1), (1, $2)", [
        delivered.data.email_id,
        bounced.data.email_id,
      ]);
    },
    receiver: ({ secret, clock, pool }) =>
      createOrdersReceiver(postgresStore(pool), { secret, clock, logger }),
  },
  {
    name: "express-redis",
    receiver: (world) =>
      expressRedis.createMailReceiver(
        world.effect("work", (_emailId: string | undefined) => {}),
        optionsOf(world),
      ),
  },
  ...Object.entries({
    "hono-node": honoNode,
    "next-app": nextApp,
    "next-pages": nextPages,
  }).map(([name, { createMailReceiver }]) => ({
    name,
    receiver: (world: World<Pool>) => createMailReceiver(printed(world), optionsOf(world)),
  })),
];

/** Returns the findings that an example's README accepts. */
const acceptedBy = (name: string) =>
  codeIn(textOf(`examples/${name}/README.md`).replaceAll(/^```[^]*?^```/gm, "")).filter((code) =>
    /^(?:duplicate|lost|partial|different|order_dependent) \w+$/.test(code),
  );

test.each(examples)(
  "the handlers of $name have the findings that its README accepts, and no others",
  async ({ name, events = [delivered], receiver, prepare }) => {
    const accept = acceptedBy(name);
    expect(textOf(`examples/${name}/README.md`)).toContain("(../../docs/crash-test.md)");
    const report = await crashTest<Pool>({ events, receiver, prepare, accept, maxFaults: 1 });
    expect(report.accepted.map(({ kind, effect }) => `${kind} ${effect}`).toSorted()).toEqual(
      accept.toSorted(),
    );
  },
);
