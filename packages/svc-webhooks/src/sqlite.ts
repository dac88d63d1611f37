export * from "@svc-webhooks/sqlite";
