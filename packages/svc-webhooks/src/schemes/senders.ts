export * from "@svc-webhooks/schemes/senders";
