import { createRequire } from "node:module";
import type { webhooks as Plugin } from "@svc-webhooks/fastify";
import { adapterContract } from "@svc-webhooks/testing/adapter";
import Fastify from "fastify";
import { describe, it } from "vitest";
import { mountIn } from "./support.js";

// test/contracts/adapters.test.ts runs the contract on the ES module, with one app for all cases.
const { webhooks } = createRequire(import.meta.url)("@svc-webhooks/fastify") as {
  webhooks: typeof Plugin;
};

adapterContract({ describe, it }, "the CommonJS build", mountIn(Fastify, webhooks));
