export * from "@svc-webhooks/pg-boss";
