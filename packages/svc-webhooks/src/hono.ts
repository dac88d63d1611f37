export * from "@svc-webhooks/hono";
