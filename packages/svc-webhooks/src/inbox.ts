export * from "@svc-webhooks/core/inbox";
