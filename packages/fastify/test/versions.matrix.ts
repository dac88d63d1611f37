import { createRequire } from "node:module";
import { webhooks } from "@svc-webhooks/fastify";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { adapterContract } from "@svc-webhooks/testing/adapter";
import type Fastify from "fastify";
import { describe, expect, it, test } from "vitest";
import { installedWith } from "../../../test/queues/install.js";
import { mountIn } from "./support.js";

const folder = await installedWith([
  "fastify-lowest@npm:fastify@5.0.0",
  "fastify-4@npm:fastify@4.29.1",
]);
const require = createRequire(`${folder}/`);
const lowest = require("fastify-lowest") as typeof Fastify;
const fastify4 = require("fastify-4") as typeof Fastify;

test("the versions are those that the tests name", () => {
  expect([lowest().version, fastify4().version]).toEqual(["5.0.0", "4.29.1"]);
});

adapterContract({ describe, it }, "Fastify 5.0.0, the lowest version", mountIn(lowest, webhooks));

test("is refused by Fastify 4, with the versions in the message", async () => {
  const app = fastify4();
  app.register(webhooks, { receiver: observedReceiver().receiver });
  await expect(app.ready()).rejects.toMatchObject({
    code: "FST_ERR_PLUGIN_VERSION_MISMATCH",
    message: expect.stringMatching(/@svc-webhooks\/fastify.+'5\.x'.+'4\.29\.1'/) as string,
  });
});
