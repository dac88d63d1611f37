export * from "@svc-webhooks/schemes/sign";
