export * from "@svc-webhooks/postgres";
