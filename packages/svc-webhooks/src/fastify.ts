export * from "@svc-webhooks/fastify";
