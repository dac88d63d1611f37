export * from "@svc-webhooks/bullmq";
