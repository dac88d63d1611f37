export * from "@svc-webhooks/core/reconcile";
