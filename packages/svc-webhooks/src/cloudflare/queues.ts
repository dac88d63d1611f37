export * from "@svc-webhooks/cloudflare/queues";
