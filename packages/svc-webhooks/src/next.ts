export * from "@svc-webhooks/next";
