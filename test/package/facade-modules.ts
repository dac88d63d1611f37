/** A module for each entry of the facade, which exports what the entry's functions return. */
export const modules: Readonly<Record<string, string>> = {
  "svc-webhooks": `
    import { createReceiver, memoryStore } from "svc-webhooks";
    export const store = memoryStore();
    export const receiver = createReceiver({ secret: "x", on: { "*": () => {} } });`,
  "svc-webhooks/adapter": `
    import { toDelivery } from "svc-webhooks/adapter";
    export const delivery = toDelivery({} as Request);`,
  "svc-webhooks/inbox": `
    import { defineInbox } from "svc-webhooks/inbox";
    export const inbox = defineInbox({} as never);`,
  "svc-webhooks/outcomes": `
    import * as outcomes from "svc-webhooks/outcomes";
    export const all = outcomes;`,
  "svc-webhooks/reconcile": `
    import { reconcile } from "svc-webhooks/reconcile";
    export const run = () => reconcile({} as never);`,
  "svc-webhooks/express": `
    import { webhooks } from "svc-webhooks/express";
    export const handler = webhooks({} as never);`,
  "svc-webhooks/fastify": `
    import { webhooks } from "svc-webhooks/fastify";
    export const plugin = webhooks;`,
  "svc-webhooks/hono": `
    import { webhooks } from "svc-webhooks/hono";
    export const handler = webhooks({ fetch: () => new Response() } as never);`,
  "svc-webhooks/nest": `
    import { handlerOf, InjectReceiver, OnWebhook, WebhooksModule } from "svc-webhooks/nest";
    export const decorators = [handlerOf<{ readonly type: "a" }>("x")("a"), OnWebhook("*"), InjectReceiver()];
    export const module = WebhooksModule.forRoot({ path: "/", secret: "x" });`,
  "svc-webhooks/next": `
    import { webhooks } from "svc-webhooks/next";
    export const { POST } = webhooks({} as never);`,
  "svc-webhooks/next/pages": `
    import { webhooks } from "svc-webhooks/next/pages";
    export const handler = webhooks({} as never);`,
  "svc-webhooks/node": `
    import { webhooks } from "svc-webhooks/node";
    export const handler = webhooks({} as never);`,
  "svc-webhooks/redis": `
    import { redisStore } from "svc-webhooks/redis";
    export const store = redisStore({} as never);`,
  "svc-webhooks/postgres": `
    import { fromDrizzle, fromKysely, fromPglite, migrate, postgresStore } from "svc-webhooks/postgres";
    export const store = postgresStore({} as never);
    export const drivers = [fromDrizzle, fromKysely, fromPglite];
    export const migrated = () => migrate({} as never);`,
  "svc-webhooks/sqlite": `
    import { sqliteStore } from "svc-webhooks/sqlite";
    export const store = sqliteStore({} as never);`,
  "svc-webhooks/pg-boss": `
    import { pgBossInbox } from "svc-webhooks/pg-boss";
    export const inbox = pgBossInbox({} as never, {} as never);`,
  "svc-webhooks/bullmq": `
    import { bullmqInbox, queueConnection } from "svc-webhooks/bullmq";
    export const inbox = bullmqInbox({} as never, {} as never);
    export const connection = queueConnection;`,
  "svc-webhooks/schemes": `
    import { discord, hmac, linear, standardWebhooks, stripe } from "svc-webhooks/schemes";
    export const all = [discord(), linear(), standardWebhooks(), stripe()];
    export const scheme = hmac({ name: "x", header: "x", encoding: "hex" });`,
  "svc-webhooks/schemes/github-events": `
    import { githubEvents } from "svc-webhooks/schemes/github-events";
    export const events = githubEvents;`,
  "svc-webhooks/schemes/senders": `
    import { senders } from "svc-webhooks/schemes/senders";
    export const all = senders;
    export const { scheme } = senders.stripe;`,
  "svc-webhooks/schemes/sign": `
    import { signers, testKeys } from "svc-webhooks/schemes/sign";
    export const sign = signers.stripe;
    export const keys = testKeys("stripe");`,
  "svc-webhooks/events": `
    import { createReceiver } from "svc-webhooks";
    import { emailEvents } from "svc-webhooks/events";
    export const events = emailEvents;
    export const receiver = createReceiver({ secret: "x", events, on: { "email.*": () => {} } });`,
  "svc-webhooks/otel": `
    import { telemetry } from "svc-webhooks/otel";
    export const all = telemetry({} as never);`,
};
