export * from "@svc-webhooks/nest";
