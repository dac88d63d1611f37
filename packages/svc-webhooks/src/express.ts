export * from "@svc-webhooks/express";
