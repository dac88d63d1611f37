export * from "@svc-webhooks/otel";
