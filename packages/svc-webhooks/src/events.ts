export * from "@svc-webhooks/events";
