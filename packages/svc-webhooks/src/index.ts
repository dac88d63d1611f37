export * from "@svc-webhooks/core";
