export * from "@svc-webhooks/core/outcomes";
