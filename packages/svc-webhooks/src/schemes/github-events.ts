export * from "@svc-webhooks/schemes/github-events";
