export * from "@svc-webhooks/node";
