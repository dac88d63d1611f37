export * from "@svc-webhooks/core/adapter";
