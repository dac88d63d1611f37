export * from "@svc-webhooks/cloudflare";
