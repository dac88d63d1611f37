export * from "@svc-webhooks/next/pages";
