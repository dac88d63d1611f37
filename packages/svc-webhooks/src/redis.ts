export * from "@svc-webhooks/redis";
