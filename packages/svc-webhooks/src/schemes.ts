export * from "@svc-webhooks/schemes";
